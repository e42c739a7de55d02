/**
 * What becomes of a question, for each kind of client: the outcome of every cell of
 *
 *     kind of client × who may answer × server × era × transport × scenario
 *
 * An outcome says how the first answer comes, and after the slash how later ones do, if that differs:
 *
 *   form, app, page, model   the door that the answer came through
 *   decline                  the client's refusal stands
 *   none                     no door is left: the tool fails
 *   silence                  the call waits
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

/**
 * The server. `pages`: browsers can reach it, and over HTTP people sign in if the question wants
 * that. `no pages`: the operator allows no pages.
 */
export const SERVERS = ["pages", "no pages"] as const;
export type Server = typeof SERVERS[number];

export const TRANSPORTS = ["HTTP", "stdio"] as const;
export type Transport = typeof TRANSPORTS[number];

/** In the last one, the server is killed with SIGKILL while the first question is open. */
export const SCENARIOS = ["one question", "three in a row", "two at once", "killed"] as const;
export type Scenario = typeof SCENARIOS[number];

export const QUESTIONS: { readonly [scenario in Scenario]: number } = {
  "one question": 1,
  "three in a row": 3,
  "two at once": 2,
  "killed": 2,
};

/** The same in both eras, over both transports, in all scenarios, except for what follows below. */
const TABLE: {
  readonly [kind in Kind]: {
    readonly [by in By]: { readonly [server in Server]: Outcome };
  };
} = {
  "form": {
    "anyone": { "pages": "form", "no pages": "form" },
    "person": { "pages": "form", "no pages": "form" },
    "signed-in": { "pages": "page", "no pages": "none" },
  },
  "form with app rendering": {
    "anyone": { "pages": "form", "no pages": "form" },
    "person": { "pages": "form", "no pages": "form" },
    "signed-in": { "pages": "page", "no pages": "none" },
  },
  "app only": {
    "anyone": { "pages": "app", "no pages": "app" },
    "person": { "pages": "app", "no pages": "app" },
    "signed-in": { "pages": "page", "no pages": "none" },
  },
  "URL only": {
    "anyone": { "pages": "page", "no pages": "model" },
    "person": { "pages": "page", "no pages": "none" },
    "signed-in": { "pages": "page", "no pages": "none" },
  },
  "nothing": {
    "anyone": { "pages": "page", "no pages": "model" },
    "person": { "pages": "page", "no pages": "none" },
    "signed-in": { "pages": "page", "no pages": "none" },
  },
  "declines at once": {
    "anyone": { "pages": "page", "no pages": "decline/model" },
    "person": { "pages": "page", "no pages": "decline" },
    "signed-in": { "pages": "page", "no pages": "none" },
  },
  "accepts {}": {
    "anyone": { "pages": "page", "no pages": "model" },
    "person": { "pages": "page", "no pages": "none" },
    "signed-in": { "pages": "page", "no pages": "none" },
  },
  "never answers": {
    "anyone": { "pages": "silence", "no pages": "silence" },
    "person": { "pages": "silence", "no pages": "silence" },
    "signed-in": { "pages": "page", "no pages": "none" },
  },
};

/** Over stdio there are no callers who could sign in. */
const SIGNED_IN_OVER_STDIO: Outcome = "none";

/**
 * Over stdio, a legacy client waits for its call on a channel that ends with the server's process.
 * If its question travels on that channel, the client calls the tool again.
 */
export const CALLS_AGAIN: readonly Kind[] = [
  "form",
  "form with app rendering",
  "URL only",
  "declines at once",
  "accepts {}",
  "never answers",
];

export interface Cell {
  readonly era: "legacy" | "modern";
  readonly transport: Transport;
  readonly kind: Kind;
  readonly scenario: Scenario;
  readonly by: By;
  readonly server: Server;
}

/** The outcome of a cell. */
export function outcomeOf({ kind, by, server, transport }: Cell): Outcome {
  if (by === "signed-in" && transport === "stdio") return SIGNED_IN_OVER_STDIO;
  return TABLE[kind][by][server];
}

/** What the tool of a cell returns: how each answer came. */
export function expected(cell: Cell): string {
  const [first, later = first] = outcomeOf(cell).split("/") as [string, string?];
  if (first === "none" || first === "silence") return first;
  // Two questions at once are both asked before the first is answered.
  const next = cell.scenario === "two at once" ? first : later;
  return [first, ...Array(QUESTIONS[cell.scenario] - 1).fill(next)].join();
}

/** How often the client calls the tool. */
export function callsOf({ era, transport, kind, scenario, by, server }: Cell): number {
  if (scenario !== "killed" || era !== "legacy" || transport !== "stdio") return 1;
  // Without a door that the client offers, its call ends with a deferral, or fails at once.
  const travels = by !== "signed-in" && (kind !== "URL only" || server === "pages");
  return travels && CALLS_AGAIN.includes(kind) ? 2 : 1;
}
