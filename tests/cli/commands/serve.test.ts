import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { root } from "../../harness/files.ts";
import { describe, it } from "../../suite.ts";
import { useHttp } from "../../support/http-server.ts";
import { TestClient } from "../../support/modern/client.ts";
import { startV1 } from "../../support/official-stdio.ts";
import { type Program, useProgram } from "../../support/program.ts";

const tools = join(root, "tests/transport/stdio/tools.ts");
const onPosix = it.when(process.platform !== "win32");

function* serve(...args: string[]): Operation<{ program: Program; url: string }> {
  const program = yield* useProgram(["serve", tools, "--port", "0", ...args]);
  const [url] = yield* until(program.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
  return { program, url };
}

/** Calls a tool as a modern client, and returns the whole response. */
async function call(
  url: string,
  name: string,
  args: object = {},
  capabilities: object = {},
): Promise<string> {
  const clientInfo = { name: "curl", version: "8 \u001b[31m" };
  const meta = { "io.modelcontextprotocol/clientInfo": clientInfo };
  const client = new TestClient((request) => fetch(request), { url, capabilities, meta });
  const { response } = await client.start("tools/call", { name, arguments: args });
  return `${response.status} ${await response.text()}`;
}

describe("parley serve", () => {
  it("prints its address, its tools, and how to connect, on stderr", function* () {
    const { program, url } = yield* serve();
    yield* until(program.says(/Ctrl-C/));
    assert.match(program.stderr, /^Parley \d+\.\d+\.\d+ serves 7 tools at http/m);
    assert.match(program.stderr, /^ {2}add {7}Adds two numbers, after asking for the second\.$/m);
    assert.ok(program.stderr.includes(`parley call TOOL --url ${url}`));
    // The address comes first, before everything else.
    assert.ok(program.stderr.startsWith("Parley"), program.stderr);
    const [banner = ""] = program.stderr.split("Ctrl-C");
    assert.deepEqual(banner.split("\n").filter((line) => line.length > 80), []);
    assert.equal(program.stdout, "");
  });

  it("prints a link to the console, and the next one when it was used", function* () {
    const { program, url } = yield* serve("--console");
    const link = /http:\/\/127\.0\.0\.1:\d+\/console\/open\?code=[\w-]+/g;
    yield* until(program.says(/Ctrl-C/));
    const [first = ""] = program.stderr.match(link) ?? [];
    const [banner = ""] = program.stderr.split("Ctrl-C");
    assert.deepEqual(banner.split("\n").filter((line) => line.length > 80), []);
    const opened = yield* until(fetch(first, { redirect: "manual" }));
    assert.equal(opened.status, 303);
    yield* until(program.says(/A link for another tab:\n {2}http.+\n/));
    const links = new Set(program.stderr.match(link));
    assert.equal(links.size, 2);
    const root = yield* until(fetch(new URL("/", url), { redirect: "manual" }));
    assert.equal(root.headers.get("location"), "console");
  });

  it("keeps links to the console out of logs, and refuses a short token", function* () {
    const args = ["serve", tools, "--port", "0", "--console"];
    const token = "t".repeat(40);
    const json = yield* useProgram([...args, "--log-format", "json"], {
      env: { PARLEY_CONSOLE_TOKEN: token },
    });
    const [, url = ""] = yield* until(json.says(/"address":"([^"]+)"/));
    const headers = { "x-parley-console": token };
    const about = yield* until(fetch(new URL("/console/about", url), { headers }));
    assert.equal(about.status, 200);
    yield* until(about.text());
    assert.doesNotMatch(json.stderr, /code=|ttttt/);
    const short = yield* useProgram(args, { env: { PARLEY_CONSOLE_TOKEN: "short" } });
    assert.equal((yield* until(short.exit)).code, 2);
    assert.match(short.stderr, /Cannot use PARLEY_CONSOLE_TOKEN/);
  });

  it("asks for passwords on a page, and in forms only if that is allowed", function* () {
    const capabilities = { elicitation: { form: {} } };
    const onPage = /"door":"page"/;
    const refused = /this server does not allow passwords in forms/;
    const cases = [
      [[], refused, false],
      [["--no-form-passwords"], refused, true],
      [["--allow-form-passwords"], /"inputRequests".*"pin"/s, false],
    ] as const;
    for (const [flags, inForm, warned] of cases) {
      const asking = join(root, "tests/cli/password-tools.ts");
      const program = yield* useProgram(["serve", asking, "--port", "0", ...flags]);
      const [url] = yield* until(program.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
      const answer = yield* until(call(url, "unlock", {}, capabilities));
      assert.match(answer, onPage);
      assert.doesNotMatch(answer, /"inputRequests"/);
      assert.match(yield* until(call(url, "unlock_in_form", {}, capabilities)), inForm);
      const warning = /--no-form-passwords has no effect: .+; remove the flag/;
      if (warned) yield* until(program.says(warning));
      else assert.doesNotMatch(program.stderr, warning);
    }
  });

  it("takes its port and its address from the environment", function* () {
    const program = yield* useProgram(["serve", tools], { env: { PORT: "0", HOST: "localhost" } });
    yield* until(program.says(/http:\/\/\S+:(?!7411)\d+\/mcp/));
  });

  it("reports that the port is taken", function* () {
    const other = createServer().listen(0, "127.0.0.1");
    yield* until(once(other, "listening"));
    const { port } = other.address() as AddressInfo;
    try {
      const program = yield* useProgram(["serve", tools, "--port", `${port}`]);
      assert.deepEqual(yield* until(program.exit), { code: 1, signal: null });
      assert.equal(
        program.stderr.trim().split("\n").at(-1),
        `Cannot serve at 127.0.0.1:${port}: the port is in use; stop the program that uses it, or choose another with --port ${
          port + 1
        }`,
      );
    } finally {
      other.close();
    }
  });

  it("reports that the address does not belong to this machine", function* () {
    const program = yield* useProgram([
      "serve",
      tools,
      "--port",
      "0",
      "--host",
      "192.0.2.1",
      "--allow-anonymous",
    ]);
    assert.deepEqual(yield* until(program.exit), { code: 1, signal: null });
    assert.match(
      program.stderr,
      /Cannot serve at 192\.0\.2\.1:0: this machine has no such address/,
    );
  });

  it("serves only allowed origins and hosts", function* () {
    const { url } = yield* serve(
      "--allow-origin",
      "https://a.example",
      "--allow-host",
      "b.example",
    );
    const ask = async (headers: Record<string, string>) =>
      (await fetch(url, { method: "OPTIONS", headers })).status;
    assert.equal(yield* until(ask({ origin: "https://evil.example" })), 403);
    assert.equal(yield* until(ask({ origin: "https://a.example" })), 204);
  });

  it("answers proxies under loopback names only if it trusts them", function* () {
    const ask = async (url: string) =>
      (await fetch(url, { method: "OPTIONS", headers: { "x-forwarded-for": "192.0.2.1" } })).status;
    const { url: guarded } = yield* serve("--log-level", "debug");
    assert.equal(yield* until(ask(guarded)), 403);
    const { url: trusting } = yield* serve(
      "--log-level",
      "debug",
      "--trust-proxy",
      "10.0.0.0/8",
      "--trust-proxy",
      "127.0.0.1",
    );
    assert.equal(yield* until(ask(trusting)), 204);
  });

  it("logs each call in one line", function* () {
    const { program, url } = yield* serve();
    yield* until(call(url, "echo", { text: "s3cret" }));
    const [line] = yield* until(program.says(/^.* tool echo completed .*$/m));
    assert.match(
      line,
      /^\d\d:\d\d:\d\dZ info {4}tool echo completed ms=\d+ session=[\w-]+ client="curl 8 {2}\[31m" era=modern protocol=2026-07-28$/,
    );
    assert.doesNotMatch(program.stderr, /s3cret/);
  });

  it("warns once about a tool whose text says more than its data", function* () {
    const chatty = join(root, "tests/cli/chatty-tools.ts");
    const program = yield* useProgram(["serve", chatty, "--port", "0"]);
    const [url] = yield* until(program.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
    for (const name of ["terse", "chatty", "chatty", "terse"]) {
      assert.match(yield* until(call(url, name)), /^200 /);
    }
    // The lines of the last call come after all warnings of the calls before it.
    yield* until(program.says(/tool terse completed[^]*tool terse completed/));
    const warnings = program.stderr.split("\n").filter((line) => line.includes("says more than"));
    assert.equal(warnings.length, 1, program.stderr);
    assert.match(warnings[0]!, / warning .* says more than its structuredContent.* tool=chatty/);
    assert.doesNotMatch(program.stderr, /s3cret/);
  });

  it("logs only JSON with --log-format json", function* () {
    const { program, url } = yield* serve("--log-format", "json", "--log-level", "debug");
    yield* until(call(url, "echo", { text: "hello" }));
    yield* until(program.says(/"POST \/mcp 200"/));
    const entries = program.stderr.trim().split("\n").map((line) => JSON.parse(line));
    const ended = entries.find(({ message }) => message === "tool echo completed");
    assert.equal(ended.tool, "echo");
    assert.equal(ended.outcome, "completed");
    assert.equal(ended.era, "modern");
    assert.equal(ended.client, "curl 8 \u001b[31m");
    assert.equal(typeof ended.ms, "number");
  });

  it("serves the transport of 2024-11-05 on request", function* () {
    for (const [flags, status] of [[["--legacy-sse"], 200], [[], 404]] as const) {
      const { url } = yield* serve(...flags);
      const gone = new AbortController();
      const response = yield* until(fetch(new URL("/sse", url), { signal: gone.signal }));
      assert.equal(response.status, status);
      gone.abort();
    }
  });
});

describe("parley serve, after a signal,", () => {
  onPosix("lets a running call finish, and refuses new ones meanwhile", function* () {
    const { program, url } = yield* serve();
    const release = Promise.withResolvers<void>();
    const address = yield* useHttp(async (_request, response) => {
      await release.promise;
      response.end();
    });
    const slow = call(url, "slow", { address });
    yield* until(program.says(/slow has begun/));
    program.signal("SIGTERM");
    yield* until(program.says(/stopping after SIGTERM/));
    const health = yield* until(fetch(new URL("/healthz", url)));
    assert.equal(health.status, 503);
    assert.match(yield* until(call(url, "echo", { text: "late" })), /^503/);
    release.resolve();
    assert.match(yield* until(slow), /done at last/);
    assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
  });

  onPosix("halts what has not ended when the time is up", function* () {
    const { program, url } = yield* serve("--grace", "0.2");
    const stubborn = call(url, "stubborn");
    yield* until(program.says(/stubborn has begun/));
    program.signal("SIGINT");
    assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
    assert.match(yield* until(stubborn), /shutting down/);
    assert.match(program.stderr, /stubborn has cleaned up/);
  });

  onPosix("does not wait for calls that wait for an answer", function* () {
    const { program, url } = yield* serve("--grace", "3600");
    const waiting = yield* until(call(url, "add", { a: 1 }));
    assert.match(waiting, /"status":"waiting".*What is to be added to 1\?/);
    program.signal("SIGTERM");
    assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
  });

  onPosix("exits at once after a second signal", function* () {
    const { program, url } = yield* serve("--grace", "3600");
    const stubborn = call(url, "stubborn").catch(() => "cut off");
    yield* until(program.says(/stubborn has begun/));
    program.signal("SIGINT");
    yield* until(program.says(/stopping after SIGINT/));
    program.signal("SIGTERM");
    assert.deepEqual(yield* until(program.exit), { code: 143, signal: null });
    assert.equal(yield* until(stubborn), "cut off");
  });

  onPosix("counts repeated signals of one Ctrl-C once", function* () {
    const { program } = yield* serve();
    // All at once: only signals within 200 ms count as the same key press.
    for (let i = 0; i < 5; i++) program.signal("SIGINT");
    yield* until(program.says(/stopping after SIGINT/));
    assert.deepEqual(yield* until(program.exit), { code: 0, signal: null });
  });
});

describe("an uncaught error of a tool", () => {
  it("ends no other call, and is logged", async () => {
    const { fromSource } = await import("../../support/program.ts");
    const stray = join(root, "tests/cli/stray.ts");
    const client = await startV1([...fromSource(), "stdio", stray]);
    try {
      await client.call("stray", {});
      await client.call("stray", {});
      assert.match(JSON.stringify(client.conversation.result), /still here/);
    } finally {
      await client.close();
    }
  });
});
