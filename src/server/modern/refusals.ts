/** The errors of this era, and their codes. */
import type { JsonObject } from "../../model/content.ts";
import { ProtocolError } from "../../model/errors.ts";
import {
  HEADER_MISMATCH,
  INTERNAL_ERROR,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  UNSUPPORTED_VERSION,
} from "../../model/rpc-codes.ts";
import { TASKS_EXTENSION } from "../../wire/modern/meta.ts";
import type { ErrorRules } from "../reply.ts";

/** This revision reserves the range of SERVER_BUSY, so being busy is an internal error. */
export const MODERN_ERRORS: ErrorRules = {
  busyCode: INTERNAL_ERROR,
  statuses: {
    [METHOD_NOT_FOUND]: 404,
    [HEADER_MISMATCH]: 400,
    [MISSING_CAPABILITY]: 400,
    [UNSUPPORTED_VERSION]: 400,
  },
};

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
