/**
 * The client that the official suite tests: `parley call` and `parley tools`. The suite appends the
 * URL of its server, names the scenario in MCP_CONFORMANCE_SCENARIO, and tells what a person would
 * know in MCP_CONFORMANCE_CONTEXT.
 */
import { all, type Operation, run, until } from "effection";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { runProgram } from "../support/program.ts";
import { exitCode, KEYS, useTerminal } from "../support/pty.ts";

/** The suite accepts this address, and serves nothing there. */
const DOCUMENT = "https://conformance-test.local/client-metadata.json";

const url = process.argv.at(-1)!;
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}");
const settings = mkdtempSync(join(tmpdir(), "parley-client-"));
process.on("exit", () => rmSync(settings, { recursive: true, force: true }));
const cacheOfDeno = process.env["DENO_DIR"] ?? join(process.env["HOME"] ?? "", ".cache/deno");
const env = {
  XDG_CONFIG_HOME: settings,
  APPDATA: settings,
  HOME: settings,
  DENO_DIR: cacheOfDeno,
};

/** Runs one command, and returns what it printed. Its errors are shown by the suite. */
function* parley(...args: string[]): Operation<string> {
  const { code, stdout, stderr } = yield* runProgram(args, { env });
  process.stderr.write(stderr);
  if (code !== 0) process.exitCode = 1;
  return stdout;
}

function call(tool: string, args: object = {}): Operation<string> {
  const { client_id: id, client_secret: secret } = context;
  const command = ["call", tool, JSON.stringify(args), "--url", url, "--client-metadata-url"];
  command.push(DOCUMENT);
  if (id !== undefined) command.push("--client-id", id);
  if (secret !== undefined) {
    writeFileSync(join(settings, "secret"), secret, { mode: 0o600 });
    command.push("--client-secret-file", join(settings, "secret"));
  }
  return parley(...command);
}

/** A person who accepts what the form suggests. */
function* acceptDefaults(tool: string, fields: number): Operation<void> {
  const terminal = yield* useTerminal(["call", tool, "{}", "--url", url], { env });
  for (let field = 0; field < fields; field++) {
    yield* until(terminal.shows(/◆/));
    terminal.type(KEYS.enter);
  }
  const code = yield* exitCode(terminal);
  process.stderr.write(terminal.shown);
  if (code !== 0) process.exitCode = 1;
}

/** What a person does in each scenario. Default: calls the tool of the scenarios on sign-in. */
const steps: { readonly [scenario: string]: () => Operation<unknown> } = {
  "initialize": () => parley("tools", "--url", url),
  "tools_call": () => call("add_numbers", { a: 5, b: 3 }),
  "elicitation-sep1034-client-defaults": () =>
    acceptDefaults("test_client_elicitation_defaults", 5),
  "sse-retry": () => call("test_reconnection"),
  "request-metadata": () => parley("tools", "--url", url),
  "http-standard-headers": () => call("test_headers"),
  *"http-custom-headers"() {
    for (const { name, arguments: args } of context.toolCalls) yield* call(name, args);
  },
  *"http-invalid-tool-headers"() {
    const tools = JSON.parse(yield* parley("tools", "--url", url, "--json"));
    yield* all(tools.map(({ name }: { name: string }) => call(name, { region: "x" })));
  },
  "json-schema-ref-no-deref": () => parley("tools", "--url", url),
  *"json-schema-2020-12-preservation"() {
    const tools = JSON.parse(yield* parley("tools", "--url", url, "--json"));
    const [{ inputSchema: schema }] = tools;
    yield* call("json_schema_echo", { schema });
  },
  *"sep-2322-client-request-state"() {
    // At the same time, so that the answers of one could reach another.
    yield* all([
      acceptDefaults("test_mrtr_echo_state", 1),
      acceptDefaults("test_mrtr_no_state", 1),
      call("test_mrtr_unrelated"),
      call("test_mrtr_no_result_type"),
    ]);
  },
};

await run(steps[scenario] ?? (() => call("test-tool")));
