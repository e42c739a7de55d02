import assert from "node:assert/strict";
import { type Operation, suspend, until as wait } from "effection";
import { join } from "node:path";
import { createManualClock, InMemoryToolSessionStore, type ToolSessionEntry } from "parley-mcp";
import { Handler } from "../../src/transport/http/handler.ts";
import { FaultyDisk } from "../store/sqlite/faulty-disk.ts";
import { useStoresThrough } from "../store/sqlite/kit.ts";
import { describe, it } from "../suite.ts";
import { TestClient } from "../support/legacy/client.ts";
import { serving, type TestServer } from "../support/legacy/server.ts";
import { useFolder } from "../support/folder.ts";
import { handTool } from "../support/tools.ts";
import { until } from "../support/turn.ts";

/** A store that fails or hangs on request, and counts its writes. */
class Disk extends InMemoryToolSessionStore {
  state: "well" | "full" | "stuck" = "well";
  writes = 0;
  lastId = "";
  halted = 0;

  constructor() {
    super();
    const write = super.set.bind(this);
    const set = function* (disk: Disk, id: string, entry: ToolSessionEntry): Operation<void> {
      disk.writes++;
      disk.lastId = id;
      if (disk.state === "full") throw new Error("secret: the disk is full");
      if (disk.state === "stuck") {
        try {
          yield* suspend();
        } finally {
          disk.halted++;
        }
      }
      yield* write(id, entry);
    };
    this.set = ((id, entry) => set(this, id, entry)) as typeof this.set;
  }
}

async function probe({ fetch }: TestServer, path = "readyz", method = "GET") {
  const response = await fetch(new Request(`http://localhost/${path}`, { method }));
  return { status: response.status, text: await response.text() };
}

const READY = { status: 200, text: '{"status":"ready","checks":{"store":"ok"}}' };
const UNREADY = { status: 503, text: '{"status":"unready","checks":{"store":"failed"}}' };

describe("GET /readyz", () => {
  it("is ready without a store, accepts only GET and HEAD, and needs no principal", () =>
    serving({ principal: () => new Response(null, { status: 401 }) }, async (server) => {
      assert.deepEqual(await probe(server), {
        status: 200,
        text: '{"status":"ready","checks":{}}',
      });
      assert.deepEqual(await probe(server, "readyz", "HEAD"), { status: 200, text: "" });
      assert.equal((await probe(server, "readyz", "POST")).status, 405);
    }));

  it("fails while the store cannot be written, unlike /healthz; the log has the reason", () => {
    const store = new Disk();
    return serving({ store }, async (server) => {
      assert.deepEqual(await probe(server), READY);
      store.state = "full";
      for (let time = 0; time < 3; time++) {
        server.clock.advance(1_000);
        assert.deepEqual(await probe(server), UNREADY);
      }
      assert.deepEqual(await probe(server, "healthz"), { status: 200, text: '{"status":"ok"}' });
      store.state = "well";
      server.clock.advance(1_000);
      assert.deepEqual(await probe(server), READY);
      // Logged once, and not sent to callers.
      const [fault, ...more] = server.faults.splice(0);
      assert.match(String(fault!.error), /the disk is full/);
      assert.equal(fault!.what, 'not ready: the check "store" fails');
      assert.deepEqual(more, []);
    });
  });

  it("fails after two seconds if a check hangs, which is then halted", () => {
    const store = new Disk();
    return serving({ store }, async (server) => {
      store.state = "stuck";
      const probing = probe(server);
      await until(() => store.writes === 1);
      server.clock.advance(2_000);
      assert.deepEqual(await probing, UNREADY);
      assert.equal(store.halted, 1);
      assert.match(String(server.faults.splice(0)[0]!.error), /took more than 2000 ms/);
    });
  });

  it("writes once a second at most, however often it is requested", () => {
    const store = new Disk();
    return serving({ store }, async (server) => {
      await Promise.all(Array.from({ length: 50 }, () => probe(server)));
      await probe(server);
      assert.equal(store.writes, 1);
      server.clock.advance(1_000);
      await probe(server);
      assert.equal(store.writes, 2);
    });
  });

  it("leaves nothing in the store", function* () {
    const store = new Disk();
    const handler = new Handler({ store });
    yield* wait(handler.fetch(new Request("http://localhost/readyz")));
    assert.match(store.lastId, /^readiness_/);
    assert.equal(yield* store.get(store.lastId), null);
    yield* wait(handler.close());
  });

  it("fails while the disk of a SQLite store is full", function* () {
    const folder = yield* useFolder();
    const disk = new FaultyDisk();
    const { sessions } = yield* useStoresThrough(join(folder, "store.db"), disk.through);
    const faults: unknown[] = [];
    const clock = createManualClock();
    const report = (fault: unknown) => void faults.push(fault);
    const handler = new Handler({ store: sessions, clock, report });
    const ask = () => wait(handler.fetch(new Request("http://localhost/readyz")));
    assert.equal((yield* ask()).status, 200);
    disk.fail("COMMIT", "database or disk is full");
    clock.advance(1_000);
    assert.equal((yield* ask()).status, 503);
    disk.heal();
    clock.advance(1_000);
    assert.equal((yield* ask()).status, 200);
    assert.equal(faults.length, 1);
    yield* wait(handler.close());
  });

  it("fails from the moment the server is told to stop", async () => {
    const { tool, runs } = handTool();
    await serving({ store: new Disk(), serve: [tool] }, async (server) => {
      const client = await TestClient.connect(server.fetch);
      const calling = client.request("tools/call", { name: "hand" });
      await until(() => runs.length === 1);
      const closed = server.parley.close({ grace: 1_000 });
      assert.deepEqual(await probe(server), { status: 503, text: '{"status":"closing"}' });
      runs[0]!.finish();
      await calling;
      await closed;
      assert.deepEqual(await probe(server), { status: 503, text: '{"status":"closing"}' });
    });
  });

  it("fails when a check that another part has added fails", async () => {
    const faults: unknown[] = [];
    const handler = new Handler({ report: (fault) => void faults.push(fault) });
    handler.core.readiness.add({
      name: "peers",
      *check() {
        throw new Error("no peers");
      },
    });
    const response = await handler.fetch(new Request("http://localhost/readyz"));
    assert.equal(response.status, 503);
    assert.deepEqual(await response.json(), { status: "unready", checks: { peers: "failed" } });
    assert.equal(faults.length, 1);
    await handler.close();
  });
});
