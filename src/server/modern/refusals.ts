/** The errors of the modern era, and their codes. */
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

/** The modern revision reserves the code of `SERVER_BUSY`, so `INTERNAL_ERROR` is used instead. */
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
    `Cannot serve "${method}": there is no such method; check the capabilities of the server`,
  );
}

export function missingCapability(
  requiredCapabilities: JsonObject,
  wayOut = "use a client that does",
): ProtocolError {
  const names = Object.keys(requiredCapabilities).join(" and ");
  return new ProtocolError(
    MISSING_CAPABILITY,
    `Cannot serve the request: the client does not declare ${names}; ${wayOut}`,
    { requiredCapabilities },
  );
}

export function headersDiffer(problem: string): ProtocolError {
  const message = `Cannot accept the request: ${problem}; send the same value in header and body`;
  return new ProtocolError(HEADER_MISMATCH, message);
}
