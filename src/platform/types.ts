/** The contract of a runtime that serves a fetch handler. */

export interface ListenOptions {
  readonly port: number;
  readonly hostname: string;
  /**
   * How many file descriptors above the minimum seen may be open before idle connections are
   * closed. Default: 8,192. Only for Deno: the other runtimes have timeouts for idle connections.
   */
  readonly maxIdle?: number;
  /** How many connections have a stream under way. They do not count as idle. Default: 0. */
  readonly busy?: () => number;
  /** Called when connections cannot be accepted, and when they can again. */
  readonly notice?: (notice: ListenerNotice) => void;
}

export type ListenerNotice =
  /** The listener has failed and is being reopened. */
  | { readonly type: "interrupted"; readonly error: unknown }
  /** The reopened listener has worked for a while. */
  | { readonly type: "restored" };

export interface Listening {
  readonly port: number;
  readonly hostname: string;
  /** Resolves with the reason when the listener has failed and cannot be reopened. */
  readonly failed: Promise<unknown>;
  /** Accepts no new connections and waits for running responses. */
  stop(): Promise<void>;
}

export type Listen = (
  /** `connection` is the runtime's information about the connection; `peerOf` reads it. */
  fetch: (request: Request, connection?: unknown) => Promise<Response>,
  options: ListenOptions,
) => Promise<Listening>;
