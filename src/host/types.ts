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
  fetch: (request: Request) => Promise<Response>,
  options: ListenOptions,
) => Promise<Listening>;
