/** Writes a zip file. */
import { type Operation, sleep } from "effection";
import { Zip, ZipDeflate } from "fflate";

export interface ZipEntry {
  /** The path in the zip file, with `/` between folders. */
  readonly name: string;
  readonly data: Uint8Array;
  readonly executable?: boolean;
}

const UNIX = 3;
const FILE_MODE = 0o100644;
const PROGRAM_MODE = 0o100755;
/** The earliest date that a zip file can hold. It is fixed, so that equal content gives equal bytes. */
const DATE = new Date(1980, 0, 1);
/** Compressing a piece of this size takes about 25 ms. */
const PIECE = 1 << 20;

/** Compresses in pieces, so that a signal can stop the work between two pieces. */
export function* zip(entries: readonly ZipEntry[]): Operation<Uint8Array> {
  const written: Uint8Array[] = [];
  const archive = new Zip((error, bytes) => {
    if (error) throw error;
    written.push(bytes);
  });
  for (const { name, data, executable = false } of entries) {
    const file = new ZipDeflate(name);
    file.os = UNIX;
    file.attrs = (executable ? PROGRAM_MODE : FILE_MODE) << 16;
    file.mtime = DATE;
    archive.add(file);
    let start = 0;
    for (; data.length - start > PIECE; start += PIECE) {
      file.push(data.subarray(start, start + PIECE));
      yield* sleep(0);
    }
    file.push(data.subarray(start), true);
  }
  archive.end();
  return joined(written);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
