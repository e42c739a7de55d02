/** What every client does with the program over stdio, however the program is started. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { root } from "../../harness/files.ts";
import { installPeers, peerCommand } from "../../harness/peers.ts";
import { it } from "../../suite.ts";
import type { Official } from "../../support/official-clients.ts";
import { startV1, startV2 } from "../../support/official-stdio.ts";
import type { Start } from "../../support/program.ts";

const MODULES = ["tests/support/multi-round-tool.ts", "tests/transport/stdio/tools.ts"]
  .map((file) => join(root, file));

/** The official clients, with a tool that asks in several rounds. */
export function officialCases(start: () => Start): void {
  const stdio = (): Start => [...start(), "stdio", ...MODULES];
  const clients: [string, string, () => Promise<Official>][] = [
    ["the official v1 client", "2025-11-25", () => startV1(stdio())],
    ["the official v2 client", "2026-07-28", () => startV2(stdio(), { pin: "2026-07-28" })],
    ["the official v2 client that probes first", "2026-07-28", () => startV2(stdio(), "auto")],
    ["the official v2 client of the older era", "2025-11-25", () => startV2(stdio(), "legacy")],
  ];
  for (const [name, version, connect] of clients) {
    it(`serves ${name}, through several rounds of questions`, async () => {
      const client = await connect();
      try {
        assert.equal(client.version, version);
        await client.call("plan_trip", { to: "Graz" });
      } finally {
        await client.close();
      }
      // Not their progress: both clients lose what arrives together with a result.
      const { questions, answers, logs, result } = client.conversation;
      assert.deepEqual([questions.length, answers.length, logs.length], [4, 4, 2]);
      assert.deepEqual((result as { structuredContent: object }).structuredContent, {
        plan: "Graz on 2026-08-01, window",
        extras: false,
        poem: "O Graz, thy clock is tall.",
      });
    });
  }
}

/** The Inspector's command line, which cannot answer questions. */
export function inspectorCases(start: () => Start): void {
  const inspect = (era: string, ...args: string[]) =>
    inspector([...start(), "stdio", ...MODULES], era, args);

  it("serves the Inspector's command line, legacy era", async () => {
    installPeers();
    const { tools } = await inspect("legacy", "tools/list");
    assert.ok((tools as { name: string }[]).some(({ name }) => name === "plan_trip"));
    const echo = ["--tool-name", "echo", "--tool-arg", "text=hello"];
    const { content } = await inspect("legacy", "tools/call", ...echo);
    assert.deepEqual(content, [{ type: "text", text: "hello" }]);
  }, { within: 60_000 });

  it("serves the Inspector's command line, modern era, and says how to answer", async () => {
    installPeers();
    const add = ["--tool-name", "add", "--tool-arg", "a=1"];
    const called = await inspect("modern", "tools/call", ...add);
    assert.notEqual(called.isError, true);
    const { status, ticket, message } = called.structuredContent as { [key: string]: string };
    assert.equal(status, "waiting");
    assert.deepEqual(called.content, [{ type: "text", text: message }]);
    assert.match(message!, /What is to be added to 1\?/);
    assert.match(
      message!,
      /Show the person this link as it is: http:\/\/127\.0\.0\.1:\d+\/pages\//,
    );
    assert.ok(message!.includes(`continue_call with ${JSON.stringify({ ticket })}`), message);
  }, { within: 60_000 });
}

/** The Inspector's output. Its own files go into a temporary folder. */
async function inspector(
  start: Start,
  era: string,
  [method, ...args]: string[],
): Promise<{ [key: string]: unknown }> {
  const home = mkdtempSync(join(tmpdir(), "parley-inspector-"));
  const [path, file] = peerCommand("inspector");
  const flags = ["--cli", "--format", "json", "--protocol-era", era, "--method", method!, ...args];
  const child = spawn(path, [file, ...flags, "--", ...start], {
    cwd: root,
    env: { ...process.env, HOME: home },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text) => stdout += text);
  child.stderr.setEncoding("utf8").on("data", (text) => stderr += text);
  try {
    await once(child, "close");
    return JSON.parse(stdout).result;
  } catch (error) {
    throw new Error(`The Inspector said:\n${stdout}\n${stderr}`, { cause: error });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
