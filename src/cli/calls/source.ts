/** Where `parley calls` finds calls: in a store that no server has open, or on a running server. */
import { existsSync } from "node:fs";
import process from "node:process";
import { type Operation, until } from "effection";
import { Sealer } from "../../lib/sealer.ts";
import type {
  CallDetail,
  CallEvents,
  CallEventWindow,
  CallFilter,
  CallPage,
  DryReplay,
  OperatorAnswer,
} from "../../model/calls.ts";
import { CallActionError } from "../../model/errors.ts";
import type { AnswerOutcome } from "../../model/events.ts";
import type { Environment } from "../environment.ts";
import { FAILED, Problem, USAGE } from "../problem.ts";
import { keysIn } from "../commands/key.ts";
import { loadDefinitions } from "../commands/load.ts";

export interface CallSource {
  list(filter: CallFilter): Operation<CallPage>;
  get(id: string): Operation<CallDetail | undefined>;
  events(id: string, window: CallEventWindow): Operation<CallEvents | undefined>;
  answer(id: string, question: string, answer: OperatorAnswer): Operation<AnswerOutcome>;
  cancel(id: string, reason?: string): Operation<boolean>;
  revive(id: string): Operation<boolean>;
  replay(id: string): Operation<DryReplay>;
  /** Waits for the next change of any call. Undefined if calls cannot change. */
  readonly changes?: () => Operation<{ next(): Operation<boolean> }>;
}

/**
 * Opens a store for as long as the current scope lives. `modules` contain the tools of the calls.
 * Undefined: the tools are not needed.
 */
export function* useStoredCalls(
  address: string,
  modules: readonly string[] | undefined,
  environment: Environment,
): Operation<CallSource> {
  const path = /^sqlite:(.+)$/.exec(address)?.[1];
  // Check this first, because opening the store would create the file.
  if (path !== undefined && !existsSync(path)) {
    throw new Problem(`Cannot open the store "${path}": there is no such file; check the path`);
  }
  const { useStore } = yield* until(import("../commands/store.ts"));
  const { stores, key } = yield* useStore(address, true);
  const { StoredCalls } = yield* until(import("../../registry/stored-calls.ts"));
  const keys = [...keysIn(process.env["PARLEY_KEY"]), ...(key === undefined ? [] : [key])];
  const served = modules ? yield* until(loadDefinitions(modules, environment)) : [];
  const calls = new StoredCalls({
    store: stores.sessions,
    now: Date.now,
    find: (kind, name) => {
      for (const one of served) {
        if ("body" in one && one.kind === kind && one.name === name) return one;
      }
      return undefined;
    },
    sealer: keys.length > 0 ? new Sealer(...keys) : undefined,
  });
  return {
    list: (filter) => explained(() => calls.list(filter)),
    get: (id) => calls.get(id),
    events: (id, window) => calls.events(id, window),
    answer: (id, question, answer) => explained(() => calls.answer(id, question, answer)),
    cancel: (id, reason = "cancelled by the operator") => explained(() => calls.cancel(id, reason)),
    revive: (id) => calls.revive(id),
    replay: (id) => explained(() => calls.replay(id)),
  };
}

/** Turns an error that the operator can fix into a `Problem`, which is printed without a stack. */
function* explained<T>(operation: () => Operation<T>): Operation<T> {
  try {
    return yield* operation();
  } catch (error) {
    if (!(error instanceof CallActionError)) throw error;
    throw new Problem(error.message, error.reason === "invalid" ? USAGE : FAILED);
  }
}
