/** The platform interfaces that transports use. */

/** The two ends of a channel on which messages travel as lines, such as stdin and stdout. */
export interface Stdio {
  readonly input: ReadableStream<Uint8Array>;
  /** Resolves when there is room for more; rejects when the reader has closed the channel. */
  write(bytes: Uint8Array): Promise<void>;
}
