/**
 * The official conformance suite, judged scenario by scenario and more strictly than
 * it judges itself: a warning is a failure, and a scenario that did not run has not
 * passed. Its own count is not enough: with a dead port, dozens of checks pass.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { root } from "../harness/files.ts";
import { installPeers, peerCommand } from "../harness/peers.ts";
import { currentRuntime, useRuntime } from "../harness/toolchain.ts";
import { browserCommand } from "../support/browser-command.ts";
import { runProgram, serveModules } from "../support/child-server.ts";

export interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED";
  readonly errorMessage?: string;
}

/** The checks of each scenario that ran. */
export type Checks = ReadonlyMap<string, readonly Check[]>;

/** Not a check of the suite: what the tested program printed. */
const PRINTED = "stderr";

/** Milliseconds that one scenario may take. */
const TIMEOUT = "10000";
/** The same for a client. The suite starts all of them at once, so they have to share the machine. */
const CLIENT_TIMEOUT = "100000";

/** Runs the suite with these arguments against the server at `url`. */
export async function runSuite(url: string, args: readonly string[]): Promise<Checks> {
  installPeers();
  const folder = mkdtempSync(join(tmpdir(), "parley-conformance-"));
  try {
    const command = ["server", "--url", url, "--timeout", TIMEOUT, "-o", folder, ...args];
    await runProgram([...peerCommand("conformance"), ...command]);
    return readChecks(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the suite with these arguments against our client, under the runtime that runs the tests. */
export async function runSuiteOnClient(
  args: readonly string[],
  program = "tests/conformance/client-program.ts",
): Promise<Checks> {
  installPeers();
  const folder = mkdtempSync(join(tmpdir(), "parley-conformance-"));
  const name = currentRuntime();
  const client = [
    useRuntime(name).path,
    ...name === "deno" ? ["run", "-A", "--no-check"] : [],
    join(root, program),
  ];
  try {
    const command = ["client", "--command", client.join(" "), "--timeout", CLIENT_TIMEOUT];
    const suite = [...peerCommand("conformance"), ...command, "-o", folder, ...args] as const;
    await runProgram(suite as readonly [string, ...string[]], {
      PARLEY_KEYRING: "off",
      PARLEY_PASSPHRASE: "",
      BROWSER: browserCommand("bun"),
    });
    return readChecks(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the suite against the fixture server, started in its own process. */
export async function runSuiteOnFixtures(args: readonly string[]): Promise<Checks> {
  const server = await serveModules("tests/conformance/everything.ts");
  try {
    return await runSuite(server.url, args);
  } finally {
    await server.stop();
  }
}

/** Each scenario leaves a folder named after it and the time. Its name may contain a slash. */
function readChecks(folder: string): Checks {
  const checks = new Map<string, readonly Check[]>();
  for (const entry of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (basename(entry) !== "checks.json") continue;
    const name = dirname(entry).replaceAll("\\", "/");
    const scenario = /^(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1];
    if (scenario === undefined) throw new Error(`Cannot tell what "${entry}" is the result of`);
    const found: Check[] = JSON.parse(readFileSync(join(folder, entry), "utf8"));
    // What a client printed explains why it failed.
    const printed = join(folder, dirname(entry), "stderr.txt");
    const errorMessage = existsSync(printed) ? readFileSync(printed, "utf8") : "";
    checks.set(scenario, [...found, { id: PRINTED, status: "INFO", errorMessage }]);
  }
  return checks;
}

/** What is wrong with a scenario's checks; undefined if it has passed. */
export function complaintsAbout(checks: readonly Check[] | undefined): string[] {
  if (!checks) return ["it did not run"];
  const bad = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
  const complaints = bad.map(({ id, status, errorMessage }) => `${status} ${id}: ${errorMessage}`);
  // A check that what was sent was well-formed says nothing if nothing was sent.
  const passed = checks.some(({ id, status }) =>
    status === "SUCCESS" && id !== "wire-schema-valid"
  );
  if (passed && complaints.length === 0) return [];
  const printed = checks.find(({ id }) => id === PRINTED)?.errorMessage;
  return [
    ...(complaints.length > 0 ? complaints : ["nothing was checked"]),
    ...(printed ? [printed] : []),
  ];
}
