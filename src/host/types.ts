/** What a runtime must be able to do to serve a fetch handler. */

export interface ListenOptions {
  readonly port: number;
  readonly hostname: string;
}

export interface Listening {
  readonly port: number;
  readonly hostname: string;
  /** Takes no new connections, and waits for the responses that are under way. */
  stop(): Promise<void>;
}

export type Listen = (
  /** `connection` is the runtime's own account of the connection; `peerOf` reads it. */
  fetch: (request: Request, connection?: unknown) => Promise<Response>,
  options: ListenOptions,
) => Promise<Listening>;
