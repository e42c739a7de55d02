/** What the places where a person answers (the page, the app) need from the doors. */
import type { Operation } from "effection";
import type { JsonObject } from "../../model/content.ts";

/** A question as a page or a view shows it. */
export interface AskedQuestion {
  /** Unique for each question. Keys repeat within a call. */
  readonly id: string;
  readonly key: string;
  readonly tool: { readonly name: string; readonly title?: string };
  /** The client that called the tool, as a person knows it. */
  readonly client?: string;
  readonly message: string;
  /** The form as it is on the wire. */
  readonly requestedSchema: JsonObject;
  /** The names of fields whose values are never shown. */
  readonly sensitive: readonly string[];
}

/** What became of an answer. */
export type AnswerOutcome =
  | { readonly kind: "accepted" }
  | {
    readonly kind: "invalid";
    readonly problems: readonly { readonly field?: string; readonly message: string }[];
  }
  | {
    readonly kind: "closed";
    readonly reason: "answered" | "withdrawn" | "expired" | "ended";
  };

/** One place where the questions of a call can be answered. */
export interface AskingPlace {
  /** The question that is open now, or what became of the call. */
  current(): AskedQuestion | { readonly ended: "finished" | "waiting" | "gone" };
  /** Answers the question with this id. */
  answer(
    id: string,
    action: "accept" | "decline" | "cancel",
    content?: JsonObject,
  ): AnswerOutcome;
  /** Waits until `current()` has changed. */
  changed(): Operation<void>;
}
