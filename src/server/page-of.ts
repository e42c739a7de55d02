/** Splits a list into pages. */
import { Buffer } from "node:buffer";
import type { JsonObject } from "../model/content.ts";
import { ProtocolError } from "../model/errors.ts";
import { INVALID_PARAMS } from "../model/rpc-codes.ts";
import type { ServerCore } from "./core.ts";

/** Returns one page of a list. It starts after the entry that the cursor identifies. */
export function pageOf<T>(
  { limits: { pageSize } }: ServerCore,
  { cursor }: JsonObject,
  entries: readonly T[],
  key: (entry: T) => string,
): { page: readonly T[]; nextCursor: { nextCursor?: string } } {
  const start = cursor === undefined
    ? 0
    : entries.findIndex((e) => toCursor(key(e)) === cursor) + 1;
  if (cursor !== undefined && start === 0) {
    throw new ProtocolError(
      INVALID_PARAMS,
      "Cannot continue the list: the cursor is unknown, or its entry was removed; list again without a cursor",
    );
  }
  const page = entries.slice(start, start + pageSize);
  const more = start + pageSize < entries.length;
  return { page, nextCursor: more ? { nextCursor: toCursor(key(page.at(-1)!)) } : {} };
}

function toCursor(key: string): string {
  return Buffer.from(key).toString("base64url");
}
