/** This process's own stdin and stdout. */
import process from "node:process";
import { claimStdout } from "../platform/process-stdio.ts";
import type { Stdio } from "../transport/stdio/serve-stdio.ts";

/** From now on, nobody else can print to stdout. */
export function processStdio(): Stdio {
  return { input: processInput(), write: claimStdout() };
}

/** As much of Bun's own types as is used here; the whole of them clashes with Deno's. */
declare const Bun: { stdin: { stream(): ReadableStream<Uint8Array> } };

function processInput(): ReadableStream<Uint8Array> {
  if ("Deno" in globalThis) return Deno.stdin.readable;
  if ("Bun" in globalThis) return Bun.stdin.stream();
  const { Readable } = process.getBuiltinModule("node:stream");
  return Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>;
}
