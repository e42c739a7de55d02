/** What a transport needs from the platform that it runs on. */

/** The two ends of a channel on which messages travel as lines, such as stdin and stdout. */
export interface Stdio {
  readonly input: ReadableStream<Uint8Array>;
  /** Resolves when there is room for more; rejects when nobody reads any longer. */
  write(bytes: Uint8Array): Promise<void>;
}
