/** Starts a bundle as an app would, to check that it needs nothing from outside. */
import process from "node:process";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { type Operation, race, scoped, sleep } from "effection";
import { isObject, parseJson } from "../../lib/json.ts";
import { messageOf } from "../../lib/message-of.ts";
import { useChild } from "../../platform/child.ts";
import type { SelfCommand } from "../../platform/self.ts";
import { LEGACY_VERSIONS } from "../../wire/versions.ts";
import type { Announced } from "../environment.ts";
import { Problem } from "../problem.ts";

/** A bundle's unpacked content. */
export interface Bundled {
  /** The command that starts Parley. */
  readonly program: SelfCommand;
  /** Paths of the modules to serve. */
  readonly modules: readonly string[];
  /** The folder that contains the program and the modules. */
  readonly content: string;
}

/** Milliseconds that a bundle may take to start. Reading a program of 100 MB from disk is slow. */
const START_LIMIT = 60_000;

/** The environment variables that a program needs on each operating system. Others are removed. */
const KEPT = ["PATH", "SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "TMPDIR"];

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: LEGACY_VERSIONS[0],
    capabilities: {},
    clientInfo: { name: "parley bundle", version: "1" },
  },
};

/** Lists the definitions in the bundle: runs `parley tools --json` from the bundle. */
export function* listAlone(bundled: Bundled, work: string): Operation<Announced[]> {
  const { stdout, stderr } = yield* runAlone(bundled, ["tools", "--json"], "", work);
  const listed = parseJson(stdout);
  if (Array.isArray(listed)) return listed as Announced[];
  throw broken(stderr, bundled);
}

/** Test-starts `parley stdio` from the bundle. Throws `Problem` if it does not answer. */
export function* startAlone(bundled: Bundled, work: string): Operation<void> {
  const input = `${JSON.stringify(INITIALIZE)}\n`;
  const { stdout, stderr } = yield* runAlone(bundled, ["stdio"], input, work);
  const answer = parseJson(stdout);
  if (!isObject(answer) || !isObject(answer.result)) throw broken(stderr, bundled);
}

/** Runs the bundle until it exits, in an empty folder and with an empty home. */
function runAlone(
  { program: { command, args }, modules }: Bundled,
  words: readonly string[],
  input: string,
  work: string,
): Operation<{ stdout: string; stderr: string }> {
  return scoped(function* () {
    const [cwd, home] = [mkdtempSync(join(work, "empty-")), mkdtempSync(join(work, "home-"))];
    const kept = Object.fromEntries(KEPT.map((name) => [name, process.env[name]]));
    const env = { ...kept, HOME: home, USERPROFILE: home, APPDATA: home, LOCALAPPDATA: home };
    const all = [...args, ...words, ...modules];
    try {
      const child = yield* useChild({ command, args: all, cwd, env });
      child.process.stdin.end(input);
      yield* race([child.ended(), tooLate()]);
      return child.said;
    } catch (error) {
      if (error instanceof Problem) throw error;
      throw new Problem(
        `Cannot bundle: the program cannot be started (${
          messageOf(error)
        }); use a program that was compiled for this machine`,
      );
    }
  });
}

function* tooLate(): Operation<never> {
  yield* sleep(START_LIMIT);
  throw new Problem(
    `Cannot bundle: the bundle does not answer within ${
      START_LIMIT / 1_000
    } seconds; check whether a module blocks while it loads`,
  );
}

function broken(stderr: string, { content }: Bundled): Problem {
  const said = messageOf(stderr.trim() || "it printed nothing").replaceAll(join(content, "/"), "");
  return new Problem(
    `Cannot bundle: the bundle does not work on its own: ${said}; import the code that a tool needs, and keep the files that it reads in its folder`,
  );
}
