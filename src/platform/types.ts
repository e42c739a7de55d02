/** What a runtime must be able to do to serve a fetch handler. */

export interface ListenOptions {
  readonly port: number;
  readonly hostname: string;
  /**
   * Connections that may be open besides those that a response is under way on; 8,192 by
   * default. For Deno alone: the others time connections out by themselves.
   */
  readonly maxIdle?: number;
  /** Hears when connections cannot be accepted, and when they can be again. */
  readonly notice?: (notice: ListenerNotice) => void;
}

export type ListenerNotice =
  /** The listener has failed. It is opened again until that succeeds. */
  | { readonly type: "interrupted"; readonly error: unknown }
  /** Connections have been accepted for a while since. */
  | { readonly type: "restored" };

export interface Listening {
  readonly port: number;
  readonly hostname: string;
  /** Resolves with the reason once the listener has failed and cannot be opened again. */
  readonly failed: Promise<unknown>;
  /** Takes no new connections, and waits for the responses that are under way. */
  stop(): Promise<void>;
}

export type Listen = (
  /** `connection` is the runtime's own account of the connection; `peerOf` reads it. */
  fetch: (request: Request, connection?: unknown) => Promise<Response>,
  options: ListenOptions,
) => Promise<Listening>;
