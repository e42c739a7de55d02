/** `parley stdio`: an MCP server on stdin and stdout. */
import { type Operation, spawn, until } from "effection";
import process from "node:process";
import { claimStdout } from "../../platform/process-stdio.ts";
import { askOptions } from "./asking.ts";
import { type FormPasswordFlags, formPasswords } from "./form-passwords.ts";
import { identityOptions, limitOptions } from "./identity.ts";
import { logQuestions, OperatorLog } from "../log.ts";
import type { StdioFlags } from "../server-flags.ts";
import { loadDefinitions } from "./definitions-to-serve.ts";
import { exitCodeOf, useSignals } from "../signals.ts";
import { useStrayErrors } from "../stray-errors.ts";
import type { Environment } from "../environment.ts";
import { useParley } from "../../parley.ts";
import { reloadSkills } from "./skills.ts";

/** The values of the flags. */
export type StdioOptions = StdioFlags & FormPasswordFlags;

export function* stdio(
  modules: readonly string[],
  options: StdioOptions,
  environment: Environment,
): Operation<number> {
  // Claim stdout before the first module is loaded: a module may print while it loads.
  claimStdout();
  const log = new OperatorLog({ level: options.logLevel, format: options.logFormat });
  const signals = yield* useSignals();
  yield* useStrayErrors(log);
  const { serve, skills } = yield* until(loadDefinitions(modules, options, environment));
  const parley = yield* useParley({
    serve,
    ...identityOptions(options, environment.version),
    limits: limitOptions(options),
    ...askOptions(options),
    formPasswords: formPasswords(options, log),
    report: (fault) => log.fault(fault),
    ...logQuestions(log),
    onCall: (call) => log.call(call),
  });
  if (skills) yield* spawn(() => reloadSkills(parley, skills, log));
  const end = new AbortController();
  yield* spawn(function* () {
    yield* signals.next();
    end.abort();
    process.exit(exitCodeOf((yield* signals.next()).value));
  });
  yield* until(parley.stdio({ signal: end.signal }));
  return 0;
}
