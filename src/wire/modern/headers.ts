/**
 * Compares headers with the body. The modern era repeats parts of the body in headers, so that
 * routers and proxies need not parse the body.
 */
import { Buffer } from "node:buffer";
import type { JsonObject } from "../../model/content.ts";
import type { HeaderParameter } from "../../model/header-parameter.ts";
import type { RequestHeaders } from "../request-headers.ts";

/** The field of `params` that the `Mcp-Name` header repeats, by method. */
const NAME_FIELD: { readonly [method: string]: string | undefined } = {
  // Methods come from clients and must not match inherited properties.
  __proto__: null as never,
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** Returns how the headers differ from the body, or undefined if they match. */
export function mismatch(
  headers: RequestHeaders,
  method: string,
  params: JsonObject,
): string | undefined {
  const said = headers.method;
  if (said === null) return "the Mcp-Method header is missing";
  if (said !== method) return `the Mcp-Method header says "${said}", but the body says "${method}"`;
  const field = NAME_FIELD[method];
  if (field === undefined) return undefined;
  const name = headers.name;
  if (name === null) return "the Mcp-Name header is missing";
  const decoded = decodeHeader(name);
  if (decoded === undefined) return "the Mcp-Name header is not encoded correctly";
  return decoded === params[field]
    ? undefined
    : `the Mcp-Name header says "${decoded}", but the body differs`;
}

/** Returns how the `Mcp-Param-…` headers differ from the arguments, or undefined if they match. */
export function parameterMismatch(
  headers: Headers,
  parameters: readonly HeaderParameter[],
  args: unknown,
): string | undefined {
  for (const { name, path } of parameters) {
    const header = headers.get(`mcp-param-${name}`);
    const value = path.reduce(valueAt, args);
    if (value === undefined || value === null) {
      if (header !== null) return `the Mcp-Param-${name} header has a value, but the body has none`;
      continue;
    }
    if (header === null) return `the Mcp-Param-${name} header is missing`;
    const decoded = decodeHeader(header);
    if (decoded === undefined) return `the Mcp-Param-${name} header is not encoded correctly`;
    if (!saysSame(decoded, value)) {
      return `the Mcp-Param-${name} header says "${decoded}", but the body differs`;
    }
  }
  return undefined;
}

function valueAt(at: unknown, key: string): unknown {
  return typeof at === "object" && at !== null && Object.hasOwn(at, key)
    ? (at as JsonObject)[key]
    : undefined;
}

/**
 * True if a header equals a value. A number may be written in several ways. Numbers outside the safe
 * range never match, because they cannot be compared exactly.
 */
function saysSame(decoded: string, value: unknown): boolean {
  switch (typeof value) {
    case "string":
      return decoded === value;
    case "boolean":
      return decoded === String(value);
    case "number":
      return DECIMAL.test(decoded) && Number(decoded) === value &&
        Math.abs(value) <= Number.MAX_SAFE_INTEGER;
    default:
      return false;
  }
}

const DECIMAL = /^-?\d+(\.\d+)?$/;

const SENTINEL_START = "=?base64?";
const SENTINEL = /^=\?base64\?(.*)\?=$/;
const PLAIN = /^[\x20-\x7e\t]*$/;

/** Decodes a header value. Returns undefined if it is not encoded correctly. */
export function decodeHeader(value: string): string | undefined {
  if (!PLAIN.test(value)) return undefined;
  const encoded = value.startsWith(SENTINEL_START) ? SENTINEL.exec(value) : null;
  if (!encoded) return value;
  const bytes = Buffer.from(encoded[1]!, "base64");
  // Decoding accepts other alphabets and missing padding. Accept only the canonical encoding.
  if (bytes.toString("base64") !== encoded[1]) return undefined;
  const decoded = bytes.toString("utf8");
  // Reject bytes that are not UTF-8.
  return Buffer.from(decoded).equals(bytes) ? decoded : undefined;
}
