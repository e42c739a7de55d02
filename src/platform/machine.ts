/** Reads the header of an executable file to find the kind of machine that the file is for. */
import { Buffer } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";
import process from "node:process";

export interface Machine {
  readonly platform: "linux" | "darwin" | "win32";
  /** The architecture. Undefined if the file contains programs for several architectures. */
  readonly arch: "x64" | "arm64" | undefined;
}

/** Number of bytes to read. The headers fit into it. */
const HEAD = 4_096;

const ELF = 0x7f454c46;
const ELF_ARCH = { 62: "x64", 183: "arm64" } as const;
const MACH_O = 0xfeedfacf;
const MACH_O_ARCH = { 0x01000007: "x64", 0x0100000c: "arm64" } as const;
/** A universal binary: several programs in one file. */
const MACH_O_FAT = 0xcafebabe;
const PE_ARCH = { 0x8664: "x64", 0xaa64: "arm64" } as const;

/** The machine that a file is for. Undefined if the file is not a program for a known machine. */
export function machineOf(file: string): Machine | undefined {
  const head = headOf(file);
  if (head.length < 64) return isScript(head) ? thisMachine() : undefined;
  const magic = head.readUInt32BE(0);
  if (magic === ELF) {
    return { platform: "linux", arch: lookUp(ELF_ARCH, head.readUInt16LE(18)) };
  }
  if (magic === MACH_O_FAT) return { platform: "darwin", arch: undefined };
  if (head.readUInt32LE(0) === MACH_O) {
    return { platform: "darwin", arch: lookUp(MACH_O_ARCH, head.readUInt32LE(4)) };
  }
  if (head.toString("latin1", 0, 2) === "MZ") {
    const at = head.readUInt32LE(60);
    const isPe = at + 6 <= head.length && head.toString("latin1", at, at + 4) === "PE\0\0";
    return {
      platform: "win32",
      arch: isPe ? lookUp(PE_ARCH, head.readUInt16LE(at + 4)) : undefined,
    };
  }
  return isScript(head) ? thisMachine() : undefined;
}

/** The machine that this program runs on. */
export function thisMachine(): Machine {
  const { platform, arch } = process;
  return {
    platform: platform === "win32" || platform === "darwin" ? platform : "linux",
    arch: arch === "x64" || arch === "arm64" ? arch : undefined,
  };
}

/** True if a program for the machine `program` can be started on `machine`. */
export function runsOn(program: Machine, machine: Machine): boolean {
  return program.platform === machine.platform &&
    (program.arch === undefined || program.arch === machine.arch);
}

/** Returns a name such as `linux x64`. */
export function nameOf({ platform, arch }: Machine): string {
  return arch === undefined ? platform : `${platform} ${arch}`;
}

function headOf(file: string): Buffer {
  const head = Buffer.alloc(HEAD);
  const descriptor = openSync(file, "r");
  try {
    return head.subarray(0, readSync(descriptor, head, 0, HEAD, 0));
  } finally {
    closeSync(descriptor);
  }
}

/** True for a script, which counts as a program for this machine. */
function isScript(head: Buffer): boolean {
  return head.toString("latin1", 0, 2) === "#!";
}

function lookUp<T>(table: { readonly [key: number]: T }, key: number): T | undefined {
  return table[key];
}
