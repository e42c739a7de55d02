/** An asking place that a test drives by hand: it asks, and sees what was answered. */
import type { JsonObject } from "../../src/model/content.ts";
import { Condition } from "../../src/lib/condition.ts";
import type {
  AnswerOutcome,
  AskedQuestion,
  AskingPlace,
  ClosedReason,
} from "../../src/server/doors/types.ts";

export type Ended = "finished" | "waiting" | "gone";

export interface GivenAnswer {
  readonly id: string;
  readonly action: string;
  readonly content: JsonObject | undefined;
}

export class HandPlace implements AskingPlace {
  readonly answers: GivenAnswer[] = [];
  /** Decides what becomes of an answer. Default: it is accepted. */
  judge: (answer: GivenAnswer) => AnswerOutcome = () => ({ kind: "accepted" });
  /** What follows an accepted answer. */
  readonly next: (AskedQuestion | { readonly ended: Ended })[] = [];
  readonly #changes = new Condition();
  #version = 0;
  #current: AskedQuestion | { readonly ended: Ended };

  constructor(first: AskedQuestion | { readonly ended: Ended }) {
    this.#current = first;
  }

  become(current: AskedQuestion | { readonly ended: Ended }): void {
    this.#current = current;
    this.#version++;
    this.#changes.changed();
  }

  current() {
    return this.#current;
  }

  find(id: string): AskedQuestion | { readonly closed: ClosedReason } {
    const current = this.#current;
    return "id" in current && current.id === id ? current : { closed: "answered" };
  }

  answer(id: string, action: "accept" | "decline" | "cancel", content?: JsonObject): AnswerOutcome {
    const given = { id, action, content };
    const outcome = this.judge(given);
    if (outcome.kind !== "accepted") return outcome;
    this.answers.push(given);
    this.become(this.next.shift() ?? { ended: "waiting" });
    return outcome;
  }

  *changed() {
    const before = this.#version;
    yield* this.#changes.until(() => this.#version !== before);
  }
}

let asked = 0;

/** A question with these fields. */
export function question(
  properties: JsonObject,
  more: Partial<AskedQuestion> & { readonly required?: readonly string[] } = {},
): AskedQuestion {
  const { required, ...rest } = more;
  return {
    id: `q-${++asked}`,
    key: "seat",
    tool: { name: "book_seat", title: "Book a seat" },
    client: "Test client",
    message: "Which seat?",
    requestedSchema: { type: "object", properties, ...(required && { required }) },
    sensitive: [],
    ...rest,
  };
}
