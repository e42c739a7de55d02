/** `node:zlib`, loaded when it is first needed: few servers let records travel. */
import process from "node:process";

type NodeZlib = typeof import("node:zlib");

let loaded: NodeZlib | undefined;

export function nodeZlib(): NodeZlib {
  return loaded ??= process.getBuiltinModule("node:zlib");
}
