/**
 * The headers that repeat parts of the body, so that whoever routes requests need
 * not read it. What they say must be what the body says.
 */
import { Buffer } from "node:buffer";
import type { JsonObject } from "../../content.ts";
import type { HeaderParameter } from "../../tool/types.ts";

/** Which field of the params a request's `Mcp-Name` repeats. */
const NAME_FIELD: { readonly [method: string]: string | undefined } = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** What does not agree, if anything. */
export function mismatch(
  headers: Headers,
  method: string,
  params: JsonObject,
): string | undefined {
  const said = headers.get("mcp-method");
  if (said === null) return "the Mcp-Method header is missing";
  if (said !== method) return `the Mcp-Method header says "${said}", the body "${method}"`;
  const field = NAME_FIELD[method];
  if (field === undefined) return undefined;
  const name = headers.get("mcp-name");
  if (name === null) return "the Mcp-Name header is missing";
  const decoded = decodeHeader(name);
  if (decoded === undefined) return "the Mcp-Name header is not encoded properly";
  return decoded === params[field]
    ? undefined
    : `the Mcp-Name header says "${decoded}", the body something else`;
}

/** What does not agree between the arguments and the `Mcp-Param-…` headers, if anything. */
export function parameterMismatch(
  headers: Headers,
  parameters: readonly HeaderParameter[],
  args: unknown,
): string | undefined {
  for (const { name, path } of parameters) {
    const header = headers.get(`mcp-param-${name}`);
    const value = path.reduce<unknown>(
      (at, key) => typeof at === "object" && at !== null ? (at as JsonObject)[key] : undefined,
      args,
    );
    if (value === undefined || value === null) {
      if (header !== null) return `the Mcp-Param-${name} header has a value, the body has none`;
      continue;
    }
    if (header === null) return `the Mcp-Param-${name} header is missing`;
    const decoded = decodeHeader(header);
    if (decoded === undefined) return `the Mcp-Param-${name} header is not encoded properly`;
    const same = typeof value === "number"
      ? decoded !== "" && Number(decoded) === value
      : decoded === String(value);
    if (!same) return `the Mcp-Param-${name} header says "${decoded}", the body something else`;
  }
  return undefined;
}

const SENTINEL = /^=\?base64\?(.*)\?=$/;
const PLAIN = /^[\x20-\x7e\t]*$/;

/** The value behind a header, or nothing if it is not spelt as it must be. */
export function decodeHeader(value: string): string | undefined {
  if (!PLAIN.test(value)) return undefined;
  const encoded = SENTINEL.exec(value);
  if (!encoded) return value;
  const bytes = Buffer.from(encoded[1]!, "base64");
  // Decoding is lenient about alphabet and padding; only the one right spelling counts.
  return bytes.toString("base64") === encoded[1] ? bytes.toString("utf8") : undefined;
}
