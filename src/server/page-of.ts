/** Splits a list into pages. */
import { Buffer } from "node:buffer";
import type { JsonObject } from "../model/content.ts";
import { ProtocolError } from "../model/errors.ts";
import { INVALID_PARAMS } from "../model/rpc-codes.ts";
import type { ServerCore } from "./core.ts";

/**
 * Returns one page of a list. The cursor names the last entry of the page before, so entries that
 * are added or removed elsewhere in the list do not matter. If that entry itself was removed, the
 * page starts at its former place.
 */
export function pageOf<T>(
  { limits: { pageSize } }: ServerCore,
  { cursor }: JsonObject,
  entries: readonly T[],
  key: (entry: T) => string,
): { page: readonly T[]; nextCursor: { nextCursor?: string } } {
  const start = cursor === undefined ? 0 : startAfter(cursor, entries, key);
  const page = entries.slice(start, start + pageSize);
  const end = start + page.length;
  const more = end < entries.length;
  return { page, nextCursor: more ? { nextCursor: toCursor(end - 1, key(page.at(-1)!)) } : {} };
}

function startAfter<T>(cursor: unknown, entries: readonly T[], key: (entry: T) => string): number {
  const text = typeof cursor === "string" ? Buffer.from(cursor, "base64url").toString() : "";
  const [, place, last] = /^(\d{1,9}):(.*)$/s.exec(text) ?? [];
  if (place === undefined || last === undefined || toCursor(Number(place), last) !== cursor) {
    throw new ProtocolError(
      INVALID_PARAMS,
      "Cannot continue the list: the cursor is unknown; list again without a cursor",
    );
  }
  const found = entries.findIndex((entry) => key(entry) === last);
  return found < 0 ? Number(place) : found + 1;
}

function toCursor(place: number, key: string): string {
  return Buffer.from(`${place}:${key}`).toString("base64url");
}
