/**
 * The interfaces between the parts of the console.
 *
 * The routes under `/console/api`, with the types of their JSON (see `model/calls.ts`):
 *
 *     GET  /console/api/calls                the filter as query parameters    CallPage
 *     GET  /console/api/calls/ID                                               CallDetail
 *     GET  /console/api/calls/ID/events      from, limit                       CallEvents
 *     GET  /console/api/watch                SSE: a CallChange for each change of any call
 *     GET  /console/api/calls/ID/watch       SSE: a CallChange for each change of the call
 *     POST /console/api/calls/ID/answer      { question, action, content? }    { outcome }
 *     POST /console/api/calls/ID/cancel      { reason? }                       { cancelled }
 *     POST /console/api/calls/ID/revive                                        { revived }
 *     POST /console/api/calls/ID/replay                                        DryReplay
 *
 * An error is `{ error: { code, message } }` with a status of 400, 401, 403, 404, 405, 409 or 503.
 */

/** The rights of a request in the console. */
export interface ConsoleAccess {
  /** True if the request may see calls (scope `console:read`). */
  readonly read: boolean;
  /** True if the request may change calls (scope `console:act`). */
  readonly act: boolean;
}

/** Decides what a request may do in the console. */
export interface ConsoleGate {
  /**
   * Returns what the request may do, or the response that refuses it. Also refuses requests of
   * another origin. Does not read the body.
   */
  authorize(request: Request): Promise<ConsoleAccess | Response>;
}

/** Answers requests under `/console/api`. */
export interface ConsoleApi {
  /** Answers a request whose path starts with `/console/api/`. Never throws. */
  fetch(request: Request): Promise<Response>;
  /** Ends all streams. */
  close(): void;
}
