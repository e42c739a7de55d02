/** The interface for places where a person answers questions, such as a page or an app view. */
import type { Operation } from "effection";
import type { JsonObject } from "../../model/content.ts";

/** A question for a page or a view to show. */
export interface AskedQuestion {
  /** The id of the question. It is unique; several questions of a call can have the same key. */
  readonly id: string;
  readonly key: string;
  readonly tool: { readonly name: string; readonly title?: string };
  /** The name of the client that called the tool, for people. */
  readonly client?: string;
  readonly message: string;
  /** The schema of the form, in the format of MCP. */
  readonly requestedSchema: JsonObject;
  /** The names of fields whose values are never shown. */
  readonly sensitive: readonly string[];
}

/** Why a question can no longer be answered. */
export type ClosedReason = "answered" | "withdrawn" | "expired" | "ended";

/** The outcome of an answer. */
export type AnswerOutcome =
  | { readonly kind: "accepted" }
  | {
    readonly kind: "invalid";
    readonly problems: readonly { readonly field?: string; readonly message: string }[];
  }
  | { readonly kind: "closed"; readonly reason: ClosedReason };

/** A place where a person can answer the questions of a call. */
export interface AskingPlace {
  /** The open question, or the state of the call if no question is open. */
  current(): AskedQuestion | { readonly ended: "finished" | "waiting" | "gone" };
  /** The question with this id, or why it can no longer be answered. */
  find(id: string): AskedQuestion | { readonly closed: ClosedReason };
  /** Answers the question with this id. */
  answer(
    id: string,
    action: "accept" | "decline" | "cancel",
    content?: JsonObject,
  ): AnswerOutcome;
  /** Waits until `current()` has changed. */
  changed(): Operation<void>;
}
