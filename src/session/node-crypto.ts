/**
 * `node:crypto`, loaded when it is first used: that takes some milliseconds, and a
 * program that has just been started has better things to do.
 */
import process from "node:process";

type NodeCrypto = typeof import("node:crypto");

let loaded: NodeCrypto | undefined;

export function nodeCrypto(): NodeCrypto {
  return loaded ??= process.getBuiltinModule("node:crypto");
}
