/**
 * A document of an authorization server, kept in memory.
 *
 * REMOTE-1  At most one request runs at a time. All callers share it.
 * REMOTE-2  An old document is loaded again before it is used. While the authorization server
 *           cannot be reached, the old document stays in use.
 * REMOTE-3  After a failure, the next request waits: a second at first, a minute at most.
 * REMOTE-4  After a success, the next request waits too, so that clients cannot cause requests at
 *           will.
 */
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/message-of.ts";
import { IssuerUnavailable } from "./refusal.ts";

const FIRST_DELAY = 1_000;
const MAX_DELAY = 60_000;

export interface RemoteDocumentOptions<T> {
  readonly issuer: string;
  readonly clock: Clock;
  /** Milliseconds after which the document is renewed. */
  readonly maxAge: number;
  /** Milliseconds between two successful requests (REMOTE-4). */
  readonly cooldown: number;
  load(): Promise<T>;
}

export class RemoteDocument<T> {
  readonly #options: RemoteDocumentOptions<T>;
  #value: T | undefined;
  #loadedAt = 0;
  #failures = 0;
  /** No request starts before this time. */
  #nextAt = 0;
  #why = "";
  #loading: Promise<T> | undefined;

  constructor(options: RemoteDocumentOptions<T>) {
    this.#options = options;
  }

  /** The document. Throws `IssuerUnavailable` if there is none yet and it cannot be loaded. */
  get(): T | Promise<T> {
    if (this.#value === undefined) return this.#load();
    const { clock, maxAge } = this.#options;
    const now = clock.now();
    if (now - this.#loadedAt < maxAge || now < this.#nextAt) return this.#value;
    // REMOTE-2: if the request fails, the old document stays in use.
    return this.#load().catch(() => this.#value!);
  }

  /** A newer document than `seen`. Returns `seen` if it was loaded only a moment ago (REMOTE-4). */
  async newerThan(seen: T): Promise<T> {
    if (this.#value !== undefined && this.#value !== seen) return this.#value;
    if (this.#failures === 0 && this.#options.clock.now() < this.#nextAt) return seen;
    return await this.#load();
  }

  /** Loads the document. All callers share one request (REMOTE-1). */
  #load(): Promise<T> {
    return this.#loading ??= this.#loadNow().finally(() => this.#loading = undefined);
  }

  async #loadNow(): Promise<T> {
    const { clock, issuer, cooldown, load } = this.#options;
    const wait = this.#nextAt - clock.now();
    if (wait > 0) throw new IssuerUnavailable(issuer, wait, this.#why);
    try {
      this.#value = await load();
    } catch (error) {
      // REMOTE-3: wait longer after each failure.
      const delay = Math.min(FIRST_DELAY * 2 ** this.#failures++, MAX_DELAY);
      this.#nextAt = clock.now() + delay;
      this.#why = messageOf(error);
      throw new IssuerUnavailable(issuer, delay, this.#why);
    }
    this.#failures = 0;
    this.#loadedAt = clock.now();
    this.#nextAt = this.#loadedAt + cooldown;
    return this.#value;
  }
}
