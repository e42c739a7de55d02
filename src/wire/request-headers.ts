/** The headers of a request that the protocol defines. Null if the request has no such header. */
export interface RequestHeaders {
  /** All headers, for headers that few requests have. */
  readonly all: Headers;
  readonly host: string | null;
  readonly origin: string | null;
  readonly accept: string | null;
  readonly contentType: string | null;
  readonly contentLength: string | null;
  /** `Mcp-Session-Id`, the session of a legacy client. */
  readonly session: string | null;
  /** `Mcp-Protocol-Version`. */
  readonly version: string | null;
  /** `Mcp-Method`, which repeats the method of a modern request. */
  readonly method: string | null;
  /** `Mcp-Name`, which repeats the name or the URI in a modern request. */
  readonly name: string | null;
}
