/** The record of a session whose client keeps it, so that no server needs to store it. */
import process from "node:process";
import { Buffer } from "node:buffer";
import type { ClientInfo, ToolSessionEvent } from "../model/events.ts";
import type { Principal } from "../model/principal.ts";
import type { EventLog } from "../session/event-log.ts";
import type { Definition } from "../tool/types.ts";

export interface PortableRecord {
  readonly createdAt: number;
  /** The version of the tool that began the session. */
  readonly version: string;
  readonly events: readonly ToolSessionEvent[];
  /** The seed of random values in the session. Absent in records of earlier versions. */
  readonly seed?: string;
  /** The caller as it was when the call began. Absent if only its id was known. */
  readonly caller?: Principal;
}

/** A request that continues a call whose client keeps the record. */
export interface PortableCall {
  readonly sessionId: string;
  readonly definition: Definition;
  readonly params: unknown;
  readonly client: ClientInfo;
  readonly principal: string;
}

/**
 * The maximum size of an unpacked record, in bytes. Records that a server packs are far smaller.
 */
const MAX_UNPACKED_BYTES = 16 * 1024 * 1024;

/** Compresses a value as JSON, and puts the byte `mark` in front of it. */
export function packRecord(mark: number, value: unknown): Uint8Array {
  return Buffer.concat([Buffer.of(mark), nodeZlib().deflateRawSync(JSON.stringify(value))]);
}

export function unpackRecord(packed: Uint8Array): unknown {
  const options = { maxOutputLength: MAX_UNPACKED_BYTES };
  return JSON.parse(nodeZlib().inflateRawSync(packed.subarray(1), options).toString("utf8"));
}

/**
 * Returns true if a log contains all events of a record. Events that the log no longer keeps are
 * not compared.
 */
export function hasComeAsFar(log: EventLog, { events }: PortableRecord): boolean {
  if (log.lastLSN < events.length) return false;
  const gone = log.firstLSN - 1;
  const told = log.after(gone).slice(0, Math.max(0, events.length - gone));
  return JSON.stringify(told) === JSON.stringify(events.slice(gone));
}

type NodeZlib = typeof import("node:zlib");

let loaded: NodeZlib | undefined;

export function nodeZlib(): NodeZlib {
  return loaded ??= process.getBuiltinModule("node:zlib");
}
