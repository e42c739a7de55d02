/** Writes a zip file. */
import { Buffer } from "node:buffer";
import { promisify } from "node:util";
import { crc32, deflateRaw } from "node:zlib";

export interface ZipEntry {
  /** With `/` between folders. */
  readonly name: string;
  readonly data: Uint8Array;
  readonly executable?: boolean;
}

const deflate = promisify(deflateRaw) as (data: Uint8Array) => Promise<Buffer>;

const UNIX = 3;
const VERSION = 20;
const UTF8_NAMES = 0x0800;
const DEFLATED = 8;
/** 1 January 1980, so that the same content makes the same file. */
const DATE = 0x0021;
const FILE_MODE = 0o100644;
const PROGRAM_MODE = 0o100755;

export async function zip(entries: readonly ZipEntry[]): Promise<Buffer> {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, data, executable = false } of entries) {
    const packed = await deflate(data);
    const path = Buffer.from(name);
    const common = commonFields(path, packed, data);
    parts.push(Buffer.concat([uint32(0x04034b50), common, uint16(0), path]), packed);
    directory.push(Buffer.concat([
      uint32(0x02014b50),
      uint16(UNIX << 8 | VERSION),
      common,
      // No extra field, no comment, first disk, no internal attributes.
      Buffer.alloc(8),
      uint32(((executable ? PROGRAM_MODE : FILE_MODE) << 16) >>> 0),
      uint32(offset),
      path,
    ]));
    offset += 30 + path.length + packed.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.concat([
    uint32(0x06054b50),
    Buffer.alloc(4),
    uint16(entries.length),
    uint16(entries.length),
    uint32(listed.length),
    uint32(offset),
    uint16(0),
  ]);
  return Buffer.concat([...parts, listed, end]);
}

function commonFields(path: Buffer, packed: Buffer, data: Uint8Array): Buffer {
  return Buffer.concat([
    uint16(VERSION),
    uint16(UTF8_NAMES),
    uint16(DEFLATED),
    uint16(0),
    uint16(DATE),
    uint32(crc32(data)),
    uint32(packed.length),
    uint32(data.length),
    uint16(path.length),
  ]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
