/** The interfaces that transports expect from the platform. */

/** The two directions of a channel on which messages are sent as lines, such as stdin and stdout. */
export interface Stdio {
  readonly input: ReadableStream<Uint8Array>;
  /** Writes bytes. Resolves when more can be written. Rejects if the reader closed the channel. */
  write(bytes: Uint8Array): Promise<void>;
}
