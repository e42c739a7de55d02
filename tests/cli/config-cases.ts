/** A config file in a folder, as the program uses it: from its source, and compiled. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestClient } from "../support/legacy/client.ts";
import { runProgram, type Start, useProgram } from "../support/program.ts";

const TOOL = `
import { createMcpTool } from "parley-mcp";
export const greet = createMcpTool("greet").description("Greets.").execute(function* () {
  return "hello";
});
`;
const CONFIG = `
import { defineConfig } from "parley-mcp";
console.log("a config may print");
const name: string = "travel";
export default defineConfig({
  tools: ["./own"],
  name,
  version: "7.8.9",
  instructions: "Be kind.",
  port: 0,
  store: "sqlite:./calls.db",
  limits: { pageSize: 7 },
  log: { level: "info" },
});
`;

/** Writes the project. */
export function writeProject(folder: string): void {
  mkdirSync(join(folder, "own"));
  writeFileSync(join(folder, "own", "greet.ts"), TOOL);
  writeFileSync(join(folder, "parley.config.ts"), CONFIG);
}

/** All commands use the config, from the folder and by `--config`. */
export function* configWorks(
  folder: string,
  elsewhere: string,
  start?: { readonly start: Start; readonly env?: { readonly [name: string]: string } },
): Operation<void> {
  writeProject(folder);
  const listed = yield* runProgram(["tools"], { cwd: folder, ...start });
  assert.equal(listed.code, 0, listed.stderr);
  assert.match(listed.stdout, /greet/);
  const called = yield* runProgram(["call", "greet"], { cwd: folder, ...start });
  assert.match(called.stdout, /hello/, called.stderr);

  const named = ["serve", "--config", join(folder, "parley.config.ts")];
  const program = yield* useProgram(named, { cwd: elsewhere, ...start });
  const [url] = yield* until(program.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
  const client = yield* until(TestClient.connect(fetch, { url }));
  const list = { jsonrpc: "2.0", id: client.nextId(), method: "tools/list" };
  const { result } = yield* until(client.post(list).then((response) => response.json()));
  assert.deepEqual(result.tools.map(({ name }: { name: string }) => name), ["greet"]);

  const stdio = yield* useProgram(["stdio"], { cwd: folder, ...start });
  stdio.send({
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    },
  });
  yield* until(stdio.says(/"id":1/, "stdout"));
  const [initialized] = stdio.messages as { result: { [name: string]: unknown } }[];
  assert.deepEqual(initialized!.result.serverInfo, { name: "travel", version: "7.8.9" });
  assert.equal(initialized!.result.instructions, "Be kind.");
}
