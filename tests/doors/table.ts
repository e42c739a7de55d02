/**
 * What becomes of a question, for each kind of client. The outcome is the same in both eras, over
 * HTTP and stdio, for one question, three in a row and two at once, and across a restart.
 *
 * A cell says how the first answer comes, and after the slash how later ones do, if that differs:
 *
 *   form, app, page, model   the door that the answer came through
 *   decline                  the client's refusal stands
 *   none                     no door is left: the tool fails
 *   silence                  the call waits
 *
 * `by` is who may answer. The first column is for a server that browsers can reach, the second for
 * one that they cannot.
 */
export type Outcome = string;

export const KINDS = [
  "form",
  "form with app rendering",
  "app only",
  "URL only",
  "nothing",
  "declines at once",
  "accepts {}",
  "never answers",
] as const;

export type Kind = typeof KINDS[number];

export const BY = ["anyone", "person", "signed-in"] as const;
export type By = typeof BY[number];

/** Until people can sign in on pages, nobody can answer these questions. */
const SIGNED_IN: readonly [Outcome, Outcome] = ["none", "none"];

export const TABLE: {
  readonly [kind in Kind]: { readonly [by in By]: readonly [pages: Outcome, none: Outcome] };
} = {
  "form": { anyone: ["form", "form"], person: ["form", "form"], "signed-in": SIGNED_IN },
  "form with app rendering": {
    anyone: ["form", "form"],
    person: ["form", "form"],
    "signed-in": SIGNED_IN,
  },
  "app only": { anyone: ["app", "app"], person: ["app", "app"], "signed-in": SIGNED_IN },
  "URL only": { anyone: ["page", "model"], person: ["page", "none"], "signed-in": SIGNED_IN },
  "nothing": { anyone: ["page", "model"], person: ["page", "none"], "signed-in": SIGNED_IN },
  "declines at once": {
    anyone: ["page", "decline/model"],
    person: ["page", "decline"],
    "signed-in": SIGNED_IN,
  },
  "accepts {}": { anyone: ["page", "model"], person: ["page", "none"], "signed-in": SIGNED_IN },
  "never answers": {
    anyone: ["silence", "silence"],
    person: ["silence", "silence"],
    "signed-in": SIGNED_IN,
  },
};
