/** What the runtime needs from the session that it runs a tool for. */
import type { Operation } from "effection";
import type { PlacedQuestion, Reply } from "../backchannel/ask.ts";
import type { ClientInfo, EventBody, ServerChange } from "../events.ts";
import type { Deadlines } from "./deadlines.ts";

/** Something went wrong that the operator should hear of, and nobody else. */
export interface Fault {
  readonly what: string;
  readonly toolName: string;
  readonly sessionId: string;
  readonly error: unknown;
}

export interface RunHost {
  readonly id: string;
  readonly client: ClientInfo;
  readonly deadlines: Deadlines;
  /**
   * True from the moment that the run is told to stop. A `yield*` inside `finally`
   * makes JavaScript forget that a generator was returning and run on, so whatever
   * must not happen after a halt looks here.
   */
  halting: boolean;
  /** Records an event. While the run is being halted it records nothing. */
  emit(body: EventBody): void;
  /** Lets the client go; it will come back for the rest. */
  hangUp(): void;
  /** Tells everyone who listens to the server, not only this caller. */
  announce(change: ServerChange): void;
  /** Records how far the tool has come; counts by itself where it is not told. */
  notify(message: string, progress?: number, total?: number): void;
  /** Puts a question and waits; refuses while the run is being halted. */
  ask(question: PlacedQuestion, timeout?: number): Operation<Reply>;
  report(fault: Fault): void;
}
