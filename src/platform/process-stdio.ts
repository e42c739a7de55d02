/**
 * The standard input and output of this process, for serving over stdio.
 *
 * Reserves stdout for the protocol, because any other output on it breaks the client. Everything
 * else that is printed to stdout goes to stderr instead.
 *
 * If stdout is a pipe, its file descriptor is moved: fd 1 becomes a copy of fd 2, and only this
 * module can write to the pipe. That redirects all output, including that of child processes.
 * Otherwise (a terminal, a file, Windows, Node, or a missing permission) the functions that print
 * are replaced one by one. That redirects everything except direct writes to fd 1.
 */
import process from "node:process";
import { fstatSync, readdirSync, readlinkSync } from "node:fs";
import type { Stdio } from "../transport/types.ts";

/** Writes bytes. Resolves when more can be written. Rejects if the reader has closed the pipe. */
export type Write = (bytes: Uint8Array) => Promise<void>;

let claimed: Write | undefined;

/** Returns a function that writes to stdout. After this call, no other code can write to it. */
export function claimStdout(): Write {
  return claimed ??= movedStdout() ?? replacedStdout();
}

// Functions that move the file descriptor of stdout.

/** The parts of Bun's API that this file uses. Bun's full types conflict with Deno's. */
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

/**
 * Finds copies of the stdout descriptor: Deno keeps one for child processes. Only Linux reports
 * which descriptor that is.
 */
function copiesOfStdout(): number[] {
  try {
    const folder = "/proc/self/fd";
    const target = (fd: string) => readlinkSync(`${folder}/${fd}`);
    const stdout = target("1");
    // If stdin and stdout are the same channel, a copy of either looks the same: leave both alone.
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
    // The descriptor was closed after it was listed.
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

/** Writes through a socket. Not used on Bun, where a slow reader would block the event loop. */
function socketWriter(fd: number): Write {
  // Load `node:net` only here, because loading it slows down start-up.
  const { Socket } = process.getBuiltinModule("node:net");
  const socket = new Socket({ fd, readable: false, writable: true });
  // The callback of each write reports the same error.
  socket.on("error", () => {});
  return (bytes) =>
    new Promise((resolve, reject) => {
      socket.write(bytes, (error) => error ? reject(error) : resolve());
    });
}

// Functions that replace the functions that print.

const PRINTING = ["log", "info", "debug", "table", "dir", "dirxml", "group", "groupCollapsed"];
const COUNTING = ["count", "time", "timeLog", "timeEnd"];

function replacedStdout(): Write {
  const write = "Deno" in globalThis ? denoWriter() : streamWriter();
  const methods = console as unknown as Record<string, unknown>;
  const error = console.error.bind(console);
  for (const method of PRINTING) methods[method] = error;
  // These methods print natively and cannot be redirected: replace them with no-ops.
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

/** Uses `Deno.stdout`, because `process.stdout` blocks the event loop while the reader is slow. */
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

/** Claims stdout, and returns it together with stdin. */
export function processStdio(): Stdio {
  return { input: processInput(), write: claimStdout() };
}

function processInput(): ReadableStream<Uint8Array> {
  if ("Deno" in globalThis) return Deno.stdin.readable;
  if ("Bun" in globalThis) return Bun.stdin.stream();
  const { Readable } = process.getBuiltinModule("node:stream");
  return Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>;
}
