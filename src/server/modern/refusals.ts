/** The errors of this era, and their codes. */
import type { JsonObject } from "../../model/content.ts";
import { ProtocolError } from "../../model/errors.ts";
import { HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CAPABILITY } from "../../model/rpc-codes.ts";
import { TASKS_EXTENSION } from "../../wire/modern/meta.ts";

export const TASKS_CAPABILITY = { extensions: { [TASKS_EXTENSION]: {} } };

export function unknownMethod(method: string): ProtocolError {
  return new ProtocolError(
    METHOD_NOT_FOUND,
    `Cannot ${method}: this server has no such method; see its capabilities`,
  );
}

export function missingCapability(requiredCapabilities: JsonObject): ProtocolError {
  const names = Object.keys(requiredCapabilities).join(" and ");
  return new ProtocolError(
    MISSING_CAPABILITY,
    `Cannot do this: the client does not declare ${names}; use a client that does`,
    { requiredCapabilities },
  );
}

export function headersDiffer(problem: string): ProtocolError {
  const message = `Cannot take the request: ${problem}; let header and body say the same`;
  return new ProtocolError(HEADER_MISMATCH, message);
}
