/**
 * The state of a call that asks questions. The server sends it to the view, in `_meta` of a tool
 * result.
 */
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
   * `question`: a question is open. `waiting`: no question is open, but the call has not ended.
   * `done`: the call has ended, and the result that carries this state is the tool's own.
   */
  readonly state: "question" | "waiting" | "done";
  readonly question?: ViewQuestion;
  /** Why the last answer was not accepted. */
  readonly problems?: readonly FormProblem[];
  /**
   * False if the view need not tell the model to continue, because a request of the model still
   * waits.
   */
  readonly tell?: boolean;
}
