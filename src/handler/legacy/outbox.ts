/** One channel for everything a client hears, where the transport has no more than one. */
import type { EventStream, Feed } from "../event-stream.ts";
import type { Call } from "./call.ts";

/** Bytes that may wait for a reader before it counts as gone. */
const MOST_WAITING = 16 * 1024 * 1024;

export class Outbox implements Feed {
  connection: EventStream | undefined;
  done = false;
  readonly #frame: (message: string) => string;
  #waiting = "";
  #wake: (() => void) | undefined;
  /** The calls whose events flow into it. */
  readonly #pumps = new Map<Call, () => void>();

  constructor(frame: (message: string) => string) {
    this.#frame = frame;
  }

  post(message: string): void {
    if (this.done) return;
    this.#waiting += this.#frame(message);
    if (this.#waiting.length > MOST_WAITING) this.close();
    else this.#wake?.();
  }

  /** Sends everything that a call has to say, until it has ended. */
  carry(call: Call): void {
    const { session, client: { core: { registry } } } = call;
    let cursor = 0;
    const pump = () => {
      cursor = call.messagesAfter(cursor, (message) => this.post(message));
      if (call.isReadTo(cursor)) this.#drop(call);
    };
    const unwatch = session.log.watch(pump);
    registry.hold(session);
    this.#pumps.set(call, () => {
      unwatch();
      registry.letGo(session);
    });
    pump();
  }

  #drop(call: Call): void {
    this.#pumps.get(call)?.();
    this.#pumps.delete(call);
  }

  close(): void {
    this.done = true;
    for (const call of [...this.#pumps.keys()]) this.#drop(call);
    this.connection?.close();
  }

  read(): string {
    const text = this.#waiting;
    this.#waiting = "";
    return text;
  }

  watch(wake: () => void): () => void {
    this.#wake = wake;
    return () => this.#wake = undefined;
  }
}
