/** The record of a session that its client carries, so that no server has to keep it. */
import process from "node:process";
import { Buffer } from "node:buffer";
import type { ClientInfo, ToolSessionEvent } from "../model/events.ts";
import type { EventLog } from "../session/event-log.ts";
import type { Definition } from "../tool/types.ts";

export interface PortableRecord {
  readonly createdAt: number;
  /** The version of the tool that began it. */
  readonly version: string;
  readonly events: readonly ToolSessionEvent[];
  /** What random values in it follow from; records of earlier versions have none. */
  readonly seed?: string;
}

/** A call that its client goes on with, and carries the record of. */
export interface PortableCall {
  readonly sessionId: string;
  readonly definition: Definition;
  readonly params: unknown;
  readonly client: ClientInfo;
  readonly principal: string;
}

/** What a record may take when it is unpacked: it was small when it was packed by us. */
const MOST_UNPACKED = 16 * 1024 * 1024;

/** Packs a value behind a byte that says so. */
export function packRecord(mark: number, value: unknown): Uint8Array {
  return Buffer.concat([Buffer.of(mark), nodeZlib().deflateRawSync(JSON.stringify(value))]);
}

export function unpackRecord(packed: Uint8Array): unknown {
  const options = { maxOutputLength: MOST_UNPACKED };
  return JSON.parse(nodeZlib().inflateRawSync(packed.subarray(1), options).toString("utf8"));
}

/** Whether a log has come as far as a record, by the same way, as far as it still tells. */
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
