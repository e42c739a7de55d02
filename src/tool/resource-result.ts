/** Turns what a resource returned into its contents. */
import { Buffer } from "node:buffer";
import type { ResourceContents } from "../model/content.ts";
import type { ResourceResult } from "../model/events.ts";

export function toResourceResult(
  value: unknown,
  uri: string,
  mimeType: string | undefined,
): ResourceResult {
  if (typeof value === "object" && value !== null && "contents" in value) {
    return value as ResourceResult;
  }
  const base = { uri, ...(mimeType !== undefined && { mimeType }) };
  const list = Array.isArray(value) ? value : [value];
  return { contents: list.map((item) => toContents(base, item)) };
}

function toContents(base: { uri: string; mimeType?: string }, value: unknown): ResourceContents {
  if (typeof value === "string") return { ...base, text: value };
  if (value instanceof Uint8Array) {
    return { ...base, blob: Buffer.from(value).toString("base64") };
  }
  if (typeof value === "object" && value !== null && ("text" in value || "blob" in value)) {
    return { ...base, ...value } as ResourceContents;
  }
  throw new TypeError(
    `Cannot use what was read from "${base.uri}": it is neither text, bytes nor contents; return one of these`,
  );
}
