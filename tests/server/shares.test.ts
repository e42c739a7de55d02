/**
 * How much one caller may hold of what all share, and who gives up something when there is no
 * room.
 */
import assert from "node:assert/strict";
import { run } from "effection";
import {
  type ClientSessionRecord,
  type ClientSessionStore,
  createMcpTool,
  type ParleyLimits,
  type ParleyOptions,
} from "parley-mcp";
import { describe, it } from "../suite.ts";
import { ORIGIN } from "../support/exchange.ts";
import { ABLE, initialize, TestClient } from "../support/legacy/client.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { living } from "../support/life.ts";
import { turn } from "../support/turn.ts";
import { serving as servingModern } from "../support/modern/server.ts";
import { serving } from "../support/legacy/server.ts";
import { ask, echo, handTool } from "../support/tools.ts";

/** Callers name themselves, which only a test may trust. */
const principal: NonNullable<ParleyOptions["principal"]> = (request) =>
  request.headers.get("x-name") ?? "";
const as = (name: string) => ({ headers: { "x-name": name }, capabilities: ABLE });

function limited(limits: Partial<ParleyLimits>): ParleyOptions {
  return { serve: [ask, echo], principal, limits };
}

async function assertBusy(response: Response, expected: RegExp, code = -32000): Promise<void> {
  assert.equal(response.status, 503);
  assert.match(response.headers.get("retry-after")!, /^\d+$/);
  const { error } = await response.json();
  assert.equal(error.code, code);
  assert.match(error.message, expected);
}

function clientsInMemory() {
  const records = new Map<string, ClientSessionRecord>();
  const clients: ClientSessionStore = {
    *get(id) {
      return records.get(id) ?? null;
    },
    *set(id, record) {
      records.set(id, record);
    },
    *delete(id) {
      records.delete(id);
    },
    *sweep() {
      return 0;
    },
  };
  return { records, clients };
}

const isAlive = async (client: TestClient) => (await client.start("ping")).status === 200;

describe("client sessions", () => {
  it("of a caller above its share end the caller's own longest idle one", () =>
    serving(
      limited({ maxClientSessions: 10, maxClientSessionsPerPrincipal: 2 }),
      async ({ fetch, parley }) => {
        const other = await TestClient.connect(fetch, as("ann"));
        const mine: TestClient[] = [];
        for (let i = 0; i < 4; i++) mine.push(await TestClient.connect(fetch, as("mallory")));
        assert.equal(parley.counts.clientSessions, 3);
        assert.deepEqual(await Promise.all(mine.map(isAlive)), [false, false, true, true]);
        assert.ok(await isAlive(other));
      },
    ));

  it("of a caller above its share are not kept in a store either", () => {
    const { records, clients } = clientsInMemory();
    const limits = { maxClientSessions: 10, maxClientSessionsPerPrincipal: 2 };
    return serving({ ...limited(limits), clients }, async ({ fetch }) => {
      const mine: TestClient[] = [];
      for (let i = 0; i < 4; i++) mine.push(await TestClient.connect(fetch, as("mallory")));
      assert.deepEqual([...records.keys()], mine.slice(2).map(({ sessionId }) => sessionId));
      assert.ok(!await isAlive(mine[0]!));
    });
  });

  it("of anonymous callers are not kept in a store beyond the limit", () => {
    const { records, clients } = clientsInMemory();
    const limits = { maxClientSessions: 3 };
    return serving({ serve: [echo], limits, clients }, async ({ fetch, parley }) => {
      const all: TestClient[] = [];
      for (let i = 0; i < 20; i++) all.push(await TestClient.connect(fetch));
      assert.equal(parley.counts.clientSessions, 3);
      assert.deepEqual([...records.keys()], all.slice(17).map(({ sessionId }) => sessionId));
      assert.ok(!await isAlive(all[0]!));
      assert.ok(await isAlive(all[19]!));
    });
  });

  it("of a newcomer delete the record of the idle one that gives up its room", () => {
    const { records, clients } = clientsInMemory();
    const limits = { maxClientSessions: 3, maxClientSessionsPerPrincipal: 3 };
    return serving({ ...limited(limits), clients }, async ({ fetch }) => {
      const all: TestClient[] = [];
      for (const name of ["ann", "ann", "bob", "cid"]) {
        all.push(await TestClient.connect(fetch, as(name)));
      }
      assert.deepEqual([...records.keys()], all.slice(1).map(({ sessionId }) => sessionId));
    });
  });

  it("with calls that can be resumed keep their records, up to the limit", () => {
    const { records, clients } = clientsInMemory();
    const limits = { maxClientSessions: 2 };
    const options = { serve: [ask, echo], limits, clients, doors: ["form"] as const };
    return serving(options, async ({ fetch }) => {
      const all: TestClient[] = [];
      for (let i = 0; i < 7; i++) {
        const client = await TestClient.connect(fetch, { capabilities: ABLE });
        all.push(client);
        // Its client has left, so the outcome of the call waits for it.
        const call = await client.call("ask");
        const { id } = await call.expect("elicitation/create");
        await call.leave();
        await client.post({ jsonrpc: "2.0", id, result: { action: "decline" } });
      }
      assert.deepEqual(
        [...records.keys()].sort(),
        all.slice(3).map(({ sessionId }) => sessionId!).sort(),
      );
      assert.ok(!await isAlive(all[2]!));
      assert.ok(await isAlive(all[3]!));
    });
  });

  it("of an earlier process count too: their records do not grow with each restart", () =>
    living(limited({ maxClientSessions: 4, maxClientSessionsPerPrincipal: 3 }), async (life) => {
      const started: TestClient[] = [];
      const connect = async (name: string) => {
        const client = await TestClient.connect((request) => life.parley.fetch(request), as(name));
        started.push(client);
        return client;
      };
      const stored = async () => {
        const ids = [];
        const { clients } = life.stores;
        for (const { sessionId } of started) {
          if (await run(() => clients.get(sessionId!))) ids.push(sessionId!);
        }
        return ids;
      };
      const storing = async (count: number) => {
        for (let found = await stored(); found.length !== count; found = await stored()) {
          await turn();
        }
      };
      for (let restarts = 0; restarts < 4; restarts++) {
        await life.start();
        for (const name of ["mallory", "mallory", "mallory"]) await connect(name);
        // Three in memory, and as many of the earlier process.
        await storing(restarts === 0 ? 3 : 6);
      }
      const kept = started.slice(-6).map(({ sessionId }) => sessionId!);
      assert.deepEqual((await stored()).sort(), kept.sort());
      // One that is back in memory counts there.
      await life.start();
      const back = new TestClient((request) => life.parley.fetch(request), as("mallory"));
      back.sessionId = kept.at(-1);
      assert.ok(await isAlive(back));
      await connect("ann");
      await storing(5);
    }));

  it("of a caller above its share are refused while all of its own are in use", () =>
    serving(
      limited({ maxClientSessions: 10, maxClientSessionsPerPrincipal: 1 }),
      async ({ fetch }) => {
        const mine = await TestClient.connect(fetch, as("mallory"));
        const stream = await mine.listen();
        const refused = await new TestClient(fetch, as("mallory")).post(initialize());
        await assertBusy(
          refused,
          /^Cannot start a session: the caller has reached its limit of 1 sessions/,
        );
        await TestClient.connect(fetch, as("ann"));
        await stream.leave();
      },
    ));

  it("of a newcomer take room from the largest holder, never from a third party", () =>
    serving(
      limited({ maxClientSessions: 40, maxClientSessionsPerPrincipal: 40 }),
      async ({ fetch, parley }) => {
        // Idle for longer than any other.
        const third = await TestClient.connect(fetch, as("ann"));
        const hoard: TestClient[] = [];
        for (let i = 0; i < 39; i++) hoard.push(await TestClient.connect(fetch, as("mallory")));
        const newcomer = await TestClient.connect(fetch, as("bob"));
        assert.ok(await isAlive(third));
        assert.ok(await isAlive(newcomer));
        assert.ok(!await isAlive(hoard[0]!));
        assert.equal(parley.counts.clientSessions, 40);
      },
    ));

  it("of a newcomer are refused if the largest holder uses all of its own", () =>
    serving(
      limited({ maxClientSessions: 5, maxClientSessionsPerPrincipal: 5, maxStreams: 100 }),
      async ({ fetch }) => {
        const third = await TestClient.connect(fetch, as("ann"));
        const streams = [];
        for (let i = 0; i < 4; i++) {
          streams.push(await (await TestClient.connect(fetch, as("mallory"))).listen());
        }
        const refused = await new TestClient(fetch, as("bob")).post(initialize());
        await assertBusy(refused, /^Cannot start a session: the server has reached its limit/);
        assert.ok(await isAlive(third));
        for (const stream of streams) await stream.leave();
      },
    ));

  it("of a caller cost nobody else anything if all hold as many", () =>
    serving(
      limited({ maxClientSessions: 3, maxClientSessionsPerPrincipal: 3 }),
      async ({ fetch }) => {
        const [ann, bob, cid] = [
          await TestClient.connect(fetch, as("ann")),
          await TestClient.connect(fetch, as("bob")),
          await TestClient.connect(fetch, as("cid")),
        ];
        await TestClient.connect(fetch, as("cid"));
        assert.deepEqual(await Promise.all([ann, bob, cid].map(isAlive)), [true, true, false]);
      },
    ));
});

describe("streams", () => {
  it("of one caller above its share are refused before anything runs", async () => {
    const { tool, runs } = handTool();
    const options = limited({ maxStreams: 4, maxStreamsPerPrincipal: 1 });
    await serving({ ...options, serve: [tool, echo] }, async ({ fetch, parley }) => {
      const mine = await TestClient.connect(fetch, as("mallory"));
      const standing = await mine.listen();
      await assertBusy((await mine.call("hand")).response, /^Cannot open a stream: the caller has/);
      const modern = new ModernClient(fetch, as("mallory"));
      const call = await modern.start("tools/call", { name: "hand", arguments: {} });
      await assertBusy(call.response, /^Cannot open a stream: the caller has/, -32603);
      assert.equal(runs.length, 0);
      const other = await TestClient.connect(fetch, as("ann"));
      const others = await other.listen();
      assert.equal(parley.counts.streams, 2);
      await standing.leave();
      await others.leave();
      await (await mine.listen()).leave();
    });
  });

  it("of callers with many are refused while there is room for a newcomer", () =>
    servingModern(limited({ maxStreams: 10, maxStreamsPerPrincipal: 5 }), async ({ fetch }) => {
      const listen = (name: string) =>
        new ModernClient(fetch, as(name)).start("subscriptions/listen", { notifications: {} });
      const open = [];
      for (const name of [..."ann ann ann bob bob bob cid".split(" ")]) {
        open.push(await listen(name));
      }
      const refused = await listen("bob");
      await assertBusy(
        refused.response,
        /^Cannot open a stream: the caller has 3 streams, and the remaining ones are reserved for callers with fewer/,
        -32603,
      );
      for (const name of ["dan", "eve", "fay"]) {
        const newcomer = await listen(name);
        assert.equal(newcomer.status, 200, name);
        open.push(newcomer);
      }
      for (const stream of open) await stream.leave();
    }));

  it("of one caller above its share are refused to subscriptions", () =>
    servingModern(
      limited({ maxStreams: 4, maxStreamsPerPrincipal: 1 }),
      async ({ fetch }) => {
        const listen = (name: string) =>
          new ModernClient(fetch, as(name)).start("subscriptions/listen", {
            notifications: { toolsListChanged: true },
          });
        const first = await listen("mallory");
        const second = await listen("mallory");
        await assertBusy(second.response, /^Cannot open a stream: the caller/, -32603);
        const other = await listen("ann");
        assert.equal(other.status, 200);
        await first.leave();
        await other.leave();
      },
    ));

  it("of one caller above its share are refused on the transport of 2024-11-05", () =>
    serving(
      { ...limited({ maxStreams: 4, maxStreamsPerPrincipal: 1 }), legacySse: true },
      async ({ parley }) => {
        const open = (name: string) =>
          parley.fetch(
            new Request(`${ORIGIN}/sse`, {
              headers: { accept: "text/event-stream", "x-name": name },
            }),
          );
        const first = await open("mallory");
        await assertBusy(await open("mallory"), /^Cannot open a stream: the caller has/);
        const other = await open("ann");
        assert.equal(other.status, 200);
        await first.body!.cancel();
        await other.body!.cancel();
      },
    ));
});

describe("live calls", () => {
  it("of callers with many are refused while there is room for a newcomer", () =>
    servingModern(limited({ maxSessions: 10, maxSessionsPerPrincipal: 5 }), async ({ fetch }) => {
      const call = (name: string) =>
        new ModernClient(fetch, as(name)).start("tools/call", { name: "ask", arguments: {} });
      for (const name of "ann ann ann bob bob bob cid".split(" ")) {
        assert.equal((await (await call(name)).message())?.result.resultType, "input_required");
      }
      await assertBusy(
        (await call("ann")).response,
        /^Cannot start another call: the caller has 3 running or waiting calls, and the remaining ones are reserved for callers with fewer/,
        -32603,
      );
      for (const name of ["dan", "eve", "fay"]) assert.equal((await call(name)).status, 200, name);
      await assertBusy((await call("gil")).response, /10 calls are running or waiting/, -32603);
    }));
});

describe("pages", () => {
  const leaves = createMcpTool("leaves").description("Leaves a page behind")
    .execute(function* (_params, ctx) {
      const page = yield* ctx.usePage({
        *respond() {
          return new Response("here");
        },
        stays: 600_000,
      });
      return page.url;
    });
  const forever = createMcpTool("forever").description("Publishes a document")
    .execute(function* (_params, ctx) {
      const page = yield* ctx.usePage({
        path: "/document.json",
        open: true,
        *respond() {
          return new Response("{}");
        },
        stays: Infinity,
      });
      return page.url;
    });
  const serve = [leaves, forever];

  /** The address of a new page, or the text that the model gets instead. */
  async function page(client: ModernClient, name = "leaves"): Promise<string> {
    const result = await client.call(name);
    return `${result.isError ? "isError: " : ""}${result.content[0].text}`;
  }

  it("of one caller above its share are refused, and the model is told", () =>
    servingModern(
      { ...limited({ maxPages: 10, maxPagesPerPrincipal: 2 }), serve, publicUrl: ORIGIN },
      async ({ fetch, clock, parley }) => {
        const mallory = new ModernClient(fetch, as("mallory"));
        const first = await page(mallory);
        assert.match(first, /^http/);
        assert.match(await page(mallory), /^http/);
        assert.match(
          await page(mallory),
          /^isError: Cannot open a page: the caller has reached its limit of 2/,
        );
        assert.match(await page(new ModernClient(fetch, as("ann"))), /^http/);
        const visit = () => parley.fetch(new Request(first, { headers: { "x-name": "mallory" } }));
        assert.equal((await visit()).status, 200);
        clock.advance(600_000);
        assert.equal((await visit()).status, 404);
        assert.match(await page(mallory), /^http/);
      },
    ));

  it("of a newcomer take room from the largest holder's oldest page, never from a permanent document", () =>
    servingModern(
      { ...limited({ maxPages: 4, maxPagesPerPrincipal: 3 }), serve, publicUrl: ORIGIN },
      async ({ fetch, parley }) => {
        const clients = ["mallory", "ann", "bob"].map((name) => new ModernClient(fetch, as(name)));
        const [mallory, ann, bob] = clients as [ModernClient, ModernClient, ModernClient];
        const document = await page(mallory, "forever");
        const [oldest, next] = [await page(mallory), await page(mallory)];
        const third = await page(ann);
        const newest = await page(bob);
        const status = async (url: string, name: string) =>
          (await parley.fetch(new Request(url, { headers: { "x-name": name } }))).status;
        assert.equal(await status(oldest, "mallory"), 404);
        assert.equal(await status(next, "mallory"), 200);
        assert.equal(await status(document, "anybody"), 200);
        assert.equal(await status(third, "ann"), 200);
        assert.equal(await status(newest, "bob"), 200);
      },
    ));

  it("of anonymous callers share one limit", () =>
    servingModern(
      { limits: { maxPages: 2, maxPagesPerPrincipal: 1 }, serve, publicUrl: ORIGIN },
      async ({ fetch }) => {
        const anybody = new ModernClient(fetch);
        for (let i = 0; i < 2; i++) assert.match(await page(anybody), /^http/);
        assert.match(
          await page(anybody),
          /^isError: Cannot open a page: the server has reached its limit of 2/,
        );
      },
    ));
});
