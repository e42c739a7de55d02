import assert from "node:assert/strict";
import { until } from "effection";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { root } from "../../harness/files.ts";
import { useFolder } from "../../support/folder.ts";
import { TestClient } from "../../support/modern/client.ts";
import { useProgram } from "../../support/program.ts";
import { describe, it } from "../../suite.ts";

describe("parley serve --audit-log", () => {
  it("notes who called what and how it ended, without arguments or results", function* () {
    const folder = yield* useFolder();
    const file = join(folder, "audit.jsonl");
    const tools = join(root, "tests/transport/stdio/tools.ts");
    const program = yield* useProgram(["serve", tools, "--port", "0", "--audit-log", file]);
    const [url] = yield* until(program.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
    const client = new TestClient((request) => fetch(request), { url });
    yield* until(client.request("tools/call", { name: "echo", arguments: { text: "s3cret" } }));
    const text = readFileSync(file, "utf8");
    assert.ok(!text.includes("s3cret"));
    const lines = text.trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(lines.map(({ event }) => event), ["called", "ended"]);
    const [called, ended] = lines;
    assert.equal(called.kind, "tool");
    assert.equal(called.session, ended.session);
    assert.equal(ended.principal, "");
    assert.ok(ended.outcome && typeof ended.ms === "number" && Date.parse(ended.time) > 0);
    if (process.platform !== "win32") assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  it("that cannot be written stops the server from starting", function* () {
    const program = yield* useProgram(["serve", "--port", "0", "--audit-log", "/nowhere/audit"]);
    assert.equal((yield* until(program.exit)).code, 1);
    assert.match(program.stderr, /Cannot write the audit log/);
  });
});
