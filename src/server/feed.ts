/** What a stream sends, and the connection that sends it. */

/** Where a stream's text comes from. */
export interface Feed {
  /** What is ready, as one text; empty if nothing is. There may be more where it is long. */
  read(): string;
  /** Nothing will come any more. */
  readonly done: boolean;
  /** Calls `wake` when there is something new. */
  watch(wake: () => void): () => void;
  /** A sign of life of its own, if it has one. */
  signOfLife?(silence: number): string | undefined;
}

/** The connection that carries a feed, as far as the feed has to know it. */
export interface FeedConnection {
  /** Ends the stream once everything that is ready has gone out. */
  end(): void;
  /** Ends the stream at once. */
  close(): void;
}
