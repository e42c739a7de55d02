/**
 * Notifications that belong to no call. They are sent on the stream that the client opens with a
 * GET. While no stream is open, the latest messages are kept.
 */
import type { Feed, FeedConnection, Send } from "../feed.ts";

/** The number of this stream. The streams of calls are numbered from 1. */
export const NOTIFICATIONS = 0;

const MAX_KEPT = 256;

export class NotificationStream implements Feed {
  connection: FeedConnection | undefined;
  readonly done = false;
  #kept: { readonly number: number; readonly message: string }[] = [];
  #last = 0;
  #cursor = 0;
  #wake: (() => void) | undefined;

  get position(): string {
    return `${NOTIFICATIONS}.${this.#cursor}`;
  }

  post(message: string): void {
    this.#kept.push({ number: ++this.#last, message });
    if (this.#kept.length > MAX_KEPT) this.#kept.shift();
    this.#wake?.();
  }

  /**
   * Restores the stream after a restart. Messages are numbered from the current time on, which is
   * greater than any number sent before.
   */
  restore(now: number): void {
    this.#last = this.#cursor = now;
  }

  /** True if the stream can be resumed at a position: any position up to the latest one. */
  canResumeAt(cursors: readonly number[]): boolean {
    return cursors.length === 1 && cursors[0]! <= this.#last;
  }

  /** Moves to a position. Messages that are no longer kept are skipped. */
  seek([cursor = 0]: readonly number[]): void {
    this.#cursor = cursor;
  }

  read(send: Send): void {
    for (const { number, message } of this.#kept) {
      if (number <= this.#cursor) continue;
      this.#cursor = number;
      send(message, this.position);
    }
  }

  watch(wake: () => void): () => void {
    this.#wake = wake;
    return () => {
      if (this.#wake === wake) this.#wake = undefined;
    };
  }
}
