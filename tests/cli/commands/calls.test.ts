import assert from "node:assert/strict";
import { type Operation, run as runOperation, until } from "effection";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createParley, openStore, type Parley, Sealer } from "parley-mcp";
import { root } from "../../harness/files.ts";
import { useFolder } from "../../support/folder.ts";
import { TestClient } from "../../support/modern/client.ts";
import { useProgram } from "../../support/program.ts";
import { describe, it } from "../../suite.ts";
import { order } from "../calls-tools.ts";

const TOOLS = join(root, "tests/cli/calls-tools.ts");
const KEY = "a key of at least thirty-two characters";

/** Runs a server on a store file, and closes it. */
async function served<T>(file: string, body: (parley: Parley) => Promise<T>): Promise<T> {
  const stores = await openStore(`sqlite:${file}`);
  const { sessions: store, clients } = stores;
  const parley = createParley({
    serve: [order],
    store,
    clients,
    sealer: new Sealer(KEY),
    formPasswords: true,
    report: () => {},
  });
  try {
    return await body(parley);
  } finally {
    await parley.close();
    stores.close();
  }
}

/** A store with one waiting call of each argument. Returns the file and the ids. */
function* useStoreFile(...whats: string[]): Operation<{ file: string; ids: string[] }> {
  const file = join(yield* useFolder(), "calls.db");
  writeFileSync(`${file}.key`, `${KEY}\n`);
  const ids = yield* until(served(file, async (parley) => {
    const client = new TestClient(parley.fetch);
    for (const what of whats) await client.call("order", { what });
    const { calls } = await parley.calls.list({ order: "oldest" });
    return calls.map(({ id }) => id);
  }));
  return { file, ids };
}

/** Changes a record as a server does that continues the call and crashes each time. */
async function setAside(file: string, id: string): Promise<void> {
  const stores = await openStore(`sqlite:${file}`);
  for (let n = 0; n < 3; n++) await runOperation(() => stores.sessions.take(id));
  stores.close();
  await served(file, async (parley) => {
    await assert.rejects(parley.calls.answer(id, "sure", { action: "decline" }), {
      code: "PARLEY_SESSION_SET_ASIDE",
    });
  });
}

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function* parley(...args: string[]): Operation<Ran> {
  const program = yield* useProgram(["calls", ...args]);
  const { code } = yield* until(program.exit);
  const { stdout, stderr } = program;
  return { code, stdout, stderr };
}

describe("parley calls --store", () => {
  it("lists calls, shows one with its events, and finds those that are set aside", function* () {
    const { file, ids: [id, other] } = yield* useStoreFile("tea", "cake");
    yield* until(setAside(file, other!));
    const store = ["--store", `sqlite:${file}`];
    const listed = JSON.parse((yield* parley("list", ...store, "--json")).stdout);
    assert.equal(listed.total, 2);
    assert.deepEqual(
      listed.calls.map((call: { id: string; state: string }) => [call.id, call.state]),
      [
        [id, "waiting"],
        [other, "set-aside"],
      ],
    );
    assert.equal(listed.calls[0].questions[0].key, "sure");
    const aside = yield* parley("list", ...store, "--state", "set-aside");
    assert.equal(aside.code, 0);
    assert.match(aside.stdout, new RegExp(`${other} .*set-aside.* order`));
    assert.ok(!aside.stdout.includes(id!));
    const shown = yield* parley("show", id!, ...store, "--tools", TOOLS);
    assert.match(shown.stdout, /1 {2}elicit_request .*sure at form: Order tea\?/);
  });

  it("revives a call that is set aside, so that the next server continues it", function* () {
    const { file, ids: [id] } = yield* useStoreFile("tea");
    yield* until(setAside(file, id!));
    const store = ["--store", `sqlite:${file}`];
    assert.equal((yield* parley("revive", id!, ...store)).code, 0);
    const again = yield* parley("revive", id!, ...store, "--json");
    assert.deepEqual([again.code, JSON.parse(again.stdout)], [1, { revived: false }]);
    yield* until(served(file, async ({ calls }) => {
      assert.equal(await calls.answer(id!, "sure", { action: "decline" }), "accepted");
    }));
  });

  it("records an answer of the operator, which the next server uses", function* () {
    const { file, ids } = yield* useStoreFile("tea", "gold");
    const tools = ["--store", `sqlite:${file}`, "--tools", TOOLS];
    const content = ["--content", '{"yes": true}'];
    for (const id of ids) {
      assert.equal((yield* parley("answer", id, ...tools, ...content)).code, 0);
    }
    yield* until(served(file, async ({ calls }) => {
      const ends = calls.watch();
      while ((await calls.get(ids[0]!))!.state !== "completed") await ends.next();
      const { outcome } = (await calls.get(ids[0]!))!;
      assert.match(JSON.stringify(outcome), /accept via operator/);
      // The other call asks for the card.
      while ((await calls.get(ids[1]!))!.questions[0]?.key !== "card") await ends.next();
    }));
    const card = ["--content", '{"number": "4000 1234"}'];
    assert.equal((yield* parley("answer", ids[1]!, ...tools, ...card)).code, 0);
    const shown = (yield* parley("show", ids[1]!, ...tools, "--json")).stdout;
    assert.ok(!shown.includes("4000"), "the number is masked");
    yield* until(served(file, async ({ calls }) => {
      const ends = calls.watch();
      while ((await calls.get(ids[1]!))!.state !== "completed") await ends.next();
      assert.match(JSON.stringify((await calls.get(ids[1]!))!.outcome), /paid with 9 digits/);
    }));
  });

  it("replays a call without effects, and says whether the code does what is recorded", function* () {
    const { file, ids: [id] } = yield* useStoreFile("tea");
    const store = ["--store", `sqlite:${file}`];
    const same = yield* parley("replay", id!, ...store, "--tools", TOOLS);
    assert.equal(same.code, 0, same.stderr);
    assert.match(
      same.stdout,
      /1 {2}same {6}elicit sure\n.*The replay matches the record: the loaded code does the same/,
    );
    const other = yield* parley("replay", id!, ...store, "--json");
    assert.equal(other.code, 1);
    assert.equal(JSON.parse(other.stdout).verdict, "refused");
  });

  it("cancels a call for good", function* () {
    const { file, ids: [id] } = yield* useStoreFile("tea");
    const store = ["--store", `sqlite:${file}`];
    assert.equal((yield* parley("cancel", id!, ...store, "--reason", "not now")).code, 0);
    assert.equal((yield* parley("cancel", id!, ...store)).code, 1);
    const { call } = JSON.parse((yield* parley("show", id!, ...store, "--json")).stdout);
    assert.deepEqual(call.outcome, { status: "cancelled", reason: "not now" });
  });

  it("refuses what it cannot do, in one sentence, and changes nothing", function* () {
    const { file, ids: [id] } = yield* useStoreFile("tea");
    const store = ["--store", `sqlite:${file}`];
    const cases: [code: number, said: RegExp, ...args: string[]][] = [
      [2, /neither a server nor a store/, "list"],
      [1, /there is no such file/, "list", "--store", `sqlite:${file}.other`],
      [2, /no id was given/, "show", ...store],
      [1, /there is none with this id/, "show", "nobody", ...store],
      [1, /there is no such call/, "cancel", "nobody", ...store],
      [2, /not JSON/, "answer", id!, ...store, "--content", "{"],
      [2, /not an object/, "answer", id!, ...store, "--content", "[]"],
      [2, /there is no answer/, "answer", id!, ...store, "--tools", TOOLS],
      [2, /no such open question/, "answer", id!, ...store, "--question", "x", "--decline"],
      [2, /correct the answer/, "answer", id!, ...store, "--tools", TOOLS, "--content", "{}"],
      [1, /does not have its tool/, "answer", id!, ...store, "--content", '{"yes":true}'],
    ];
    for (const [code, said, ...args] of cases) {
      const ran = yield* parley(...args);
      assert.match(ran.stderr, said, args.join(" "));
      assert.deepEqual([ran.code, ran.stdout], [code, ""], args.join(" "));
    }
    yield* until(served(file, async ({ calls }) => {
      assert.equal((await calls.get(id!))!.lastLSN, 1);
      const ran = await runOperation(() => parley("list", ...store));
      assert.equal(ran.code, 1);
      assert.match(ran.stderr, /another|in use|locked/);
    }));
  });
});

const TOKEN = "a token of thirty-two characters!";

/** A server with a console, in a process of its own. Returns its address. */
function* useConsole(): Operation<string> {
  const env = { PARLEY_CONSOLE_TOKEN: TOKEN };
  const args = ["serve", TOOLS, "--console", "--port", "0"];
  const program = yield* useProgram(args, { env });
  const [, url] = yield* until(program.says(/(http:\/\/127\.0\.0\.1:\d+)/));
  return url!;
}

describe("parley calls --url", () => {
  it("lists, shows, answers and cancels calls of a running server, and watches the list", function* () {
    const url = yield* useConsole();
    const client = new TestClient(fetch, { url: `${url}/mcp` });
    const remote = (...args: string[]) =>
      useProgram(["calls", ...args, "--url", url], { env: { PARLEY_CONSOLE_TOKEN: TOKEN } });
    const run = function* (...args: string[]): Operation<Ran> {
      const program = yield* remote(...args);
      const { code } = yield* until(program.exit);
      return { code, stdout: program.stdout, stderr: program.stderr };
    };
    const watching = yield* remote("list", "--watch", "--json");
    yield* until(watching.says(/"total":0/, "stdout"));
    yield* until(client.call("order", { what: "tea" }));
    yield* until(watching.says(/"total":1/, "stdout"));
    yield* until(client.call("order", { what: "cake" }));
    const { calls: [tea, cake] } = JSON.parse(
      (yield* run("list", "--json", "--limit", "5")).stdout,
    );
    assert.equal(tea.questions[0].message, "Order tea?");
    const answered = yield* run("answer", tea.id, "--content", '{"yes": true}');
    assert.equal(answered.code, 0, answered.stderr);
    yield* until(watching.says(/"state":"completed"/, "stdout"));
    assert.match((yield* run("show", tea.id)).stdout, /via operator/);
    assert.equal((yield* run("replay", cake.id)).code, 0);
    assert.equal((yield* run("cancel", cake.id)).code, 0);
    assert.equal((yield* run("cancel", cake.id)).code, 1);
    assert.equal((yield* run("show", "nobody")).code, 1);
    assert.equal((yield* run("answer", cake.id, "--decline")).code, 2);
    watching.signal("SIGINT");
    assert.equal((yield* until(watching.exit)).code, 130);
  });

  it("says what to do without a token, a console or a server", function* () {
    const url = yield* useConsole();
    const env = { PARLEY_CONSOLE_TOKEN: "" };
    const said = function* (address: string, ...more: string[]): Operation<string> {
      const program = yield* useProgram(["calls", "list", "--url", address, ...more], { env });
      assert.ok((yield* until(program.exit)).code! > 0);
      return program.stderr;
    };
    assert.match(yield* said(url), /set PARLEY_CONSOLE_TOKEN/);
    assert.match(yield* said("http://127.0.0.1:1"), /check that it runs/);
    assert.match(yield* said("nowhere"), /not a URL/);
    assert.match(yield* said(url, "--store", "sqlite:x"), /choose one/);
    const off = yield* useProgram(["serve", TOOLS, "--port", "0"]);
    const [, other] = yield* until(off.says(/(http:\/\/127\.0\.0\.1:\d+)/));
    assert.match(yield* said(other!), /start it with --console/);
  });
});
