/**
 * The standard input and output of this process, for serving over stdio.
 *
 * Claims stdout for the protocol, because one stray line breaks the client. Whatever
 * else prints to stdout after that goes to stderr.
 *
 * Where stdout is a pipe, the file descriptor itself is moved: fd 1 becomes a copy
 * of fd 2, and only we hold the pipe. That reaches every way of printing that there
 * is, those of child processes included. Elsewhere (a terminal, a file, Windows,
 * Node, no permission for it) the ways of printing are replaced one by one, which
 * reaches all but those who write to fd 1 by themselves.
 */
import process from "node:process";
import { fstatSync, readdirSync, readlinkSync } from "node:fs";
import type { Stdio } from "../transport/types.ts";

/** Resolves when there is room for more; rejects when nobody reads any longer. */
export type Write = (bytes: Uint8Array) => Promise<void>;

let claimed: Write | undefined;

/** The only way to write to stdout from now on. */
export function claimStdout(): Write {
  return claimed ??= movedStdout() ?? replacedStdout();
}

// ---------------------------------------------------- moving the descriptor

/** As much of Bun's own types as is used here; the whole of them clashes with Deno's. */
declare const Bun: {
  stdin: { stream(): ReadableStream<Uint8Array> };
  file(fd: number): { writer(): { write(bytes: Uint8Array): number; flush(): Promise<number> } };
};

interface Libc {
  dup(fd: number): number;
  dup2(from: number, to: number): number;
}

const LIBC = process.platform === "darwin" ? "libSystem.dylib" : "libc.so.6";

function movedStdout(): Write | undefined {
  try {
    const stat = fstatSync(1);
    if (process.platform === "win32" || !(stat.isFIFO() || stat.isSocket())) return undefined;
    const libc = openLibc();
    if (!libc) return undefined;
    const copies = copiesOfStdout();
    const fd = libc.dup(1);
    if (fd < 0) return undefined;
    const write = "Bun" in globalThis ? bunWriter(fd) : socketWriter(fd);
    if (libc.dup2(2, 1) < 0) return undefined;
    for (const copy of copies) libc.dup2(2, copy);
    return write;
  } catch {
    return undefined;
  }
}

/** Deno holds one for the processes that it starts. Only Linux tells which it is. */
function copiesOfStdout(): number[] {
  try {
    const folder = "/proc/self/fd";
    const target = (fd: string) => readlinkSync(`${folder}/${fd}`);
    const stdout = target("1");
    // The same channel both ways: there is no telling what reads from what writes.
    if (target("0") === stdout) return [];
    return readdirSync(folder).filter((fd) => Number(fd) > 2 && linksTo(stdout, fd, target))
      .map(Number);
  } catch {
    return [];
  }
}

function linksTo(stdout: string, fd: string, target: (fd: string) => string): boolean {
  try {
    return target(fd) === stdout;
  } catch {
    // Closed since it was listed.
    return false;
  }
}

function openLibc(): Libc | undefined {
  if ("Bun" in globalThis) {
    const { dlopen } = process.getBuiltinModule("bun:ffi" as "node:fs") as unknown as {
      dlopen(path: string, symbols: object): { symbols: Libc };
    };
    return dlopen(LIBC, {
      dup: { args: ["i32"], returns: "i32" },
      dup2: { args: ["i32", "i32"], returns: "i32" },
    }).symbols;
  }
  if (!("Deno" in globalThis)) return undefined;
  return Deno.dlopen(LIBC, {
    dup: { parameters: ["i32"], result: "i32" },
    dup2: { parameters: ["i32", "i32"], result: "i32" },
  }).symbols;
}

function bunWriter(fd: number): Write {
  const sink = Bun.file(fd).writer();
  return async (bytes) => {
    sink.write(bytes);
    await sink.flush();
  };
}

/** On Bun this would block everything else while the reader is slow. */
function socketWriter(fd: number): Write {
  // Loaded here, because nothing else needs it and it takes its time.
  const { Socket } = process.getBuiltinModule("node:net");
  const socket = new Socket({ fd, readable: false, writable: true });
  // Each write hears of it too.
  socket.on("error", () => {});
  return (bytes) =>
    new Promise((resolve, reject) => {
      socket.write(bytes, (error) => error ? reject(error) : resolve());
    });
}

// --------------------------------------------- replacing the ways of printing

const PRINTING = ["log", "info", "debug", "table", "dir", "dirxml", "group", "groupCollapsed"];
const COUNTING = ["count", "time", "timeLog", "timeEnd"];

function replacedStdout(): Write {
  const write = "Deno" in globalThis ? denoWriter() : streamWriter();
  const methods = console as unknown as Record<string, unknown>;
  const error = console.error.bind(console);
  for (const method of PRINTING) methods[method] = error;
  // They would print what they count by themselves.
  for (const method of COUNTING) methods[method] = () => {};
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  if ("Deno" in globalThis) {
    const { stderr } = Deno;
    Object.defineProperties(Deno.stdout, {
      write: { value: stderr.write.bind(stderr) },
      writeSync: { value: stderr.writeSync.bind(stderr) },
      writable: { get: () => stderr.writable },
    });
  }
  return write;
}

/** `process.stdout` would block everything else while the reader is slow. */
function denoWriter(): Write {
  const writer = Deno.stdout.writable.getWriter();
  return (bytes) => writer.write(bytes);
}

function streamWriter(): Write {
  const { stdout } = process;
  const write = stdout.write.bind(stdout);
  stdout.on("error", () => {});
  return (bytes) =>
    new Promise((resolve, reject) => {
      write(bytes, (error) => error ? reject(error) : resolve());
    });
}

/** From now on, nobody else can print to stdout. */
export function processStdio(): Stdio {
  return { input: processInput(), write: claimStdout() };
}

function processInput(): ReadableStream<Uint8Array> {
  if ("Deno" in globalThis) return Deno.stdin.readable;
  if ("Bun" in globalThis) return Bun.stdin.stream();
  const { Readable } = process.getBuiltinModule("node:stream");
  return Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>;
}
