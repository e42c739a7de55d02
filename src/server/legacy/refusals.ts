/** The errors of the legacy era, and their codes. */
import { SessionLimitError } from "../../model/errors.ts";
import { INVALID_REQUEST, SERVER_BUSY, SESSION_NOT_FOUND } from "../../model/rpc-codes.ts";
import type { RpcId } from "../../wire/json-rpc.ts";
import { busy, type ErrorRules, type Refused, refused } from "../reply.ts";

/** In the legacy era, an error has no special HTTP status: it is sent as an ordinary response. */
export const LEGACY_ERRORS: ErrorRules = { busyCode: SERVER_BUSY, statuses: {} };

export const CHANGE_NOT_STORED =
  "Cannot change the session: the change could not be stored; try again later";

/** Refuses an invalid message. A message without an id gets no JSON-RPC response. */
export function notTaken(problem: string, id?: RpcId): Refused {
  return refused(400, INVALID_REQUEST, problem, id);
}

/** Refuses a request because its call cannot be loaded into memory now. Rethrows other errors. */
export function noRoom(error: unknown): Refused {
  if (!(error instanceof SessionLimitError)) throw error;
  return busy(undefined, error.message, LEGACY_ERRORS);
}

/** Refuses a message whose client session does not exist. */
export function sessionGone(): Refused {
  const problem = "Cannot find the session: it has ended or expired; send initialize again";
  return refused(404, SESSION_NOT_FOUND, problem);
}
