/**
 * Opens a listener again when it fails.
 *
 * A process that runs out of file descriptors cannot accept connections. Deno then closes the
 * listener for good, so this module opens a new one. It stops the failed listener first, which
 * closes idle and unfinished connections and frees their descriptors. Running responses continue.
 *
 * LISTEN-1  After `stop()`, no listener is opened, and no timer is set.
 * LISTEN-2  If descriptors have run out, the module retries for as long as it takes: each running
 *           call that ends frees a descriptor. After any other failure, it gives up after
 *           `GIVE_UP`.
 */
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Listening, ListenOptions } from "./types.ts";

/** Milliseconds before the first attempt to reopen the listener. Doubled with each failure. */
const FIRST_DELAY = 10;
const MAX_DELAY = 1_000;
/** Milliseconds without a failure after which a listener counts as restored. */
const STABLE = 10_000;
/** Milliseconds without a working listener after which no more attempts are made. */
const GIVE_UP = 30_000;

/** A listener as a runtime provides it. */
export interface Listener {
  readonly port: number;
  readonly hostname: string;
  /** Resolves with the reason when the listener stops by itself. */
  readonly failed: Promise<unknown>;
  /** Closes idle connections and waits for running responses. */
  stop(): Promise<void>;
}

export type OpenListener = (options: ListenOptions) => Promise<Listener>;

/** Opens a listener and keeps it open. Rejects if the first attempt fails. */
export async function keepListening(
  open: OpenListener,
  options: ListenOptions,
  clock: Clock = systemClock,
): Promise<Listening> {
  return new KeptListener(open, options, await open(options), clock);
}

class KeptListener implements Listening {
  readonly port: number;
  readonly hostname: string;
  readonly failed: Promise<unknown>;
  readonly #fail: (reason: unknown) => void;
  readonly #open: OpenListener;
  readonly #options: ListenOptions;
  readonly #clock: Clock;
  /** Listeners that are being stopped. */
  readonly #stopping = new Set<Promise<void>>();
  #current: Listener | undefined;
  /** The running attempt to open a listener. */
  #opening: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #delay = FIRST_DELAY;
  #interrupted = false;
  /** When the last listener failed. Undefined while a listener is open. */
  #downSince: number | undefined;
  #stopped = false;

  constructor(open: OpenListener, options: ListenOptions, first: Listener, clock: Clock) {
    this.#open = open;
    this.#clock = clock;
    this.port = first.port;
    this.hostname = first.hostname;
    // Port 0 picks a free port. Reopen the same one, because clients know it.
    this.#options = { ...options, port: first.port };
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.failed = promise;
    this.#fail = resolve;
    this.#watch(first);
  }

  /**
   * Stops listening, for good (LISTEN-1). This is a bound function, so that callers can pass it on
   * without the object.
   */
  readonly stop = async (): Promise<void> => {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#opening;
    if (this.#current) this.#close(this.#current);
    await Promise.all(this.#stopping);
  };

  #watch(listener: Listener): void {
    this.#current = listener;
    listener.failed.then((error) => {
      if (this.#stopped || this.#current !== listener) return;
      this.#current = undefined;
      this.#close(listener);
      this.#retry(error);
    });
  }

  #close(listener: Listener): void {
    const stopping = listener.stop().catch(() => {});
    this.#stopping.add(stopping);
    stopping.then(() => this.#stopping.delete(stopping));
  }

  #retry(error: unknown): void {
    if (!this.#interrupted) this.#options.notice?.({ type: "interrupted", error });
    this.#interrupted = true;
    this.#downSince ??= this.#clock.now();
    // LISTEN-2: never give up while descriptors have run out.
    if (!isExhaustion(error) && this.#clock.now() - this.#downSince >= GIVE_UP) {
      return this.#fail(error);
    }
    this.#after(this.#delay, () => this.#opening = this.#reopen());
    this.#delay = Math.min(2 * this.#delay, MAX_DELAY);
  }

  async #reopen(): Promise<void> {
    let listener: Listener;
    try {
      listener = await this.#open(this.#options);
    } catch (error) {
      if (!this.#stopped) this.#retry(error);
      return;
    }
    this.#watch(listener);
    if (this.#stopped) return;
    this.#downSince = undefined;
    this.#after(STABLE, () => {
      this.#delay = FIRST_DELAY;
      this.#interrupted = false;
      this.#options.notice?.({ type: "restored" });
    });
  }

  #after(ms: number, act: () => void): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#clock.after(ms, act);
  }
}

/** True if descriptors or buffers have run out. Deno reports the cause only in the message. */
export function isExhaustion(error: unknown): boolean {
  const { code = "", message = "" } = (error ?? {}) as { code?: string; message?: string };
  return /^(EMFILE|ENFILE|ENOBUFS|ENOMEM)$/.test(code) ||
    /\(os error (23|24|105|55|12)\)/.test(message);
}
