import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { existsSync, readdirSync, readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { createMcpTool, createParley, InMemoryToolSessionStore, openStore } from "parley-mcp";
import { z } from "zod";
import { root } from "../../harness/files.ts";
import { useFolder } from "../../support/folder.ts";
import { TestClient as LegacyClient } from "../../support/legacy/client.ts";
import { TestClient } from "../../support/modern/client.ts";
import { useProgram } from "../../support/program.ts";
import { describe, it } from "../../suite.ts";
import { noticed } from "../../support/turn.ts";

const ask = createMcpTool("ask").description("Asks.").durable()
  .parameters(z.object({ about: z.string() }))
  .elicits({ ok: { response: z.object({ yes: z.boolean() }) } })
  .execute(function* (_, ctx) {
    return (yield* ctx.elicit("ok", { message: "Sure?" })).action;
  });

/** A store with a call and a client session of each caller. */
function* useFilledStore(): Operation<string> {
  const file = join(yield* useFolder(), "calls.db");
  const stores = yield* until(openStore(`sqlite:${file}`));
  const parley = createParley({
    serve: [ask],
    store: stores.sessions,
    clients: stores.clients,
    principal: (request) => request.headers.get("x-caller") ?? new Response("", { status: 401 }),
  });
  for (const caller of ["alice", "bob"]) {
    const headers = { "x-caller": caller };
    const client = new TestClient(parley.fetch, { headers });
    yield* until(client.call("ask", { about: `the secret of ${caller}` }));
    yield* until(LegacyClient.connect(parley.fetch, { headers }));
  }
  yield* until(parley.close());
  stores.close();
  return file;
}

function* run(...args: string[]) {
  const program = yield* useProgram(args);
  const { code } = yield* until(program.exit);
  return { code, stdout: program.stdout, stderr: program.stderr };
}

describe("parley store", () => {
  it("exports the data of one caller, and erases it from the file", function* () {
    const file = yield* useFilledStore();
    const store = (action: string, principal: string) =>
      run("store", action, "--store", `sqlite:${file}`, "--principal", principal);
    const { stdout } = yield* store("export", "alice");
    const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(lines.map(({ type }) => type).sort(), ["call", "client session"]);
    const call = lines.find(({ type }) => type === "call");
    assert.equal(call.call.params.about, "the secret of alice");
    assert.ok(call.events.length > 0);
    assert.ok(!stdout.includes("bob"));

    assert.equal((yield* store("erase", "alice")).code, 0);
    assert.equal((yield* store("export", "alice")).stdout, "");
    assert.ok(!readFileSync(file).includes("the secret of alice"), "it is gone from the file");
    const { stdout: others } = yield* store("export", "bob");
    assert.equal(others.trim().split("\n").length, 2);
  });

  it(
    "exports beside a running server, and says that erasing needs the server to stop",
    function* () {
      const folder = yield* useFolder();
      const file = join(folder, "calls.db");
      const tokens = join(folder, "tokens.txt");
      const { stdout: token } = yield* run("token", "alice", "--token-file", tokens);
      const tool = join(root, "tools/book_flight.ts");
      const server = yield* useProgram(
        ["serve", tool, "--port", "0", "--store", `sqlite:${file}`, "--token-file", tokens],
      );
      const [url] = yield* until(server.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
      const headers = { authorization: `Bearer ${token.trim()}` };
      const client = new TestClient(fetch, { url, headers });
      const store = (action: string) =>
        run("store", action, "--store", `sqlite:${file}`, "--principal", "token|alice");
      for (const calls of [1, 2]) {
        // Each call waits for its answer, and is in the log of the store.
        yield* until(client.call("book_flight", { from: "BER", to: "LIS" }));
        const { code, stdout, stderr } = yield* store("export");
        assert.deepEqual([code, stdout.trim().split("\n").length], [0, calls], stderr);
      }
      const before = readdirSync(folder).sort();
      const erased = yield* store("erase");
      assert.equal(erased.code, 1);
      assert.match(
        erased.stderr,
        /^Cannot erase .+: a server is using the store.+; stop the server/,
      );
      assert.deepEqual(readdirSync(folder).sort(), before);

      server.signal("SIGTERM");
      yield* until(server.exit);
      assert.equal((yield* store("erase")).code, 0);
      assert.equal((yield* store("export")).stdout, "");
    },
    { within: 60_000 },
  );

  it("leaves no copy behind if it is stopped", function* () {
    const file = yield* useFilledStore();
    const temporary = yield* useFolder();
    // The store seems to change all the time, so that it is never copied.
    const changing = setInterval(() => utimesSync(file, new Date(), new Date()), 5);
    try {
      const args = ["store", "export", "--store", `sqlite:${file}`, "--principal", "alice"];
      const env = { TMPDIR: temporary, TEMP: temporary, TMP: temporary };
      const program = yield* useProgram(args, { env });
      yield* until(noticed(() => readdirSync(temporary).length > 0));
      program.signal("SIGINT");
      assert.equal((yield* until(program.exit)).code, 130);
      assert.deepEqual([program.stdout, readdirSync(temporary)], ["", []]);
    } finally {
      clearInterval(changing);
    }
  });

  it("creates no store", function* () {
    const path = join(yield* useFolder(), "missing.db");
    for (const action of ["export", "erase"]) {
      const args = ["--store", `sqlite:${path}`, "--principal", "alice"];
      assert.equal((yield* run("store", action, ...args)).code, 1);
      assert.ok(!existsSync(path));
    }
  });

  it("needs a caller and a store", function* () {
    assert.equal((yield* run("store", "export", "--principal", "a")).code, 2);
    assert.equal((yield* run("store", "shred", "--principal", "a", "--store", "sqlite:x")).code, 2);
  });
});

describe("InMemoryToolSessionStore.sessionsOf()", () => {
  it("finds the sessions of one caller", function* () {
    const store = new InMemoryToolSessionStore();
    const parley = createParley({ serve: [ask], store, principal: () => "alice" });
    yield* until(new TestClient(parley.fetch).call("ask", { about: "x" }));
    assert.equal((yield* store.sessionsOf("alice")).length, 1);
    assert.equal((yield* store.sessionsOf("")).length, 0);
    yield* until(parley.close());
  });
});
