/** The contract of a runtime that serves a fetch handler. */

export interface ListenOptions {
  readonly port: number;
  readonly hostname: string;
  /**
   * The number of file descriptors that may be open, in addition to the lowest count so far, before
   * idle connections are closed. Default: 8,192. Only for Deno: the other runtimes close idle
   * connections after a timeout.
   */
  readonly maxIdle?: number;
  /** The number of connections with an open stream. They do not count as idle. Default: 0. */
  readonly busy?: () => number;
  /** Called when the server cannot accept connections, and when it can again. */
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
  /** Stops accepting connections and waits for running responses. */
  stop(): Promise<void>;
}

export type Listen = (
  /** `connection` is the runtime's information about the connection; `peerOf` reads it. */
  fetch: (request: Request, connection?: unknown) => Promise<Response>,
  options: ListenOptions,
) => Promise<Listening>;
