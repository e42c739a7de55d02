/** What the server tells a view about a call that asks. It travels in `_meta` of a tool result. */
import type { JsonObject } from "../model/content.ts";
import type { FormProblem } from "./form.ts";

/** The name of the state in `_meta`. */
export const ASK_META = "parley/ask";

/** The question that a view shows. */
export interface ViewQuestion {
  /** Unique for each question. */
  readonly id: string;
  readonly key: string;
  readonly message: string;
  readonly requestedSchema: JsonObject;
  readonly tool?: { readonly name: string; readonly title?: string };
}

/** The state of a call, for its view. */
export interface AskState {
  readonly ticket?: string;
  /** Allows the view to answer. It is sent only in `_meta`, which models do not see. */
  readonly secret?: string;
  /**
   * `question`: there is something to answer. `waiting`: there is nothing to answer yet. `done`:
   * the call has ended, and the content of the same result is the tool's own.
   */
  readonly state: "question" | "waiting" | "done";
  readonly question?: ViewQuestion;
  /** Why the last answer was not accepted. */
  readonly problems?: readonly FormProblem[];
  /** False if the model gets the result by itself, because its call is still open. */
  readonly tell?: boolean;
}
