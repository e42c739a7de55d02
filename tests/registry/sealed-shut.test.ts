import assert from "node:assert/strict";
import { join } from "node:path";
import { z } from "zod";
import { createMcpTool, createParley, openStore, Sealer } from "../../src/mod.ts";
import { SessionSealedError, StoreError } from "../../src/model/errors.ts";
import type { ToolSessionEvent } from "../../src/model/events.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { TestClient } from "../support/modern/client.ts";
import { until } from "effection";
import { serverOf, stored } from "./durable-kit.ts";
import { idle, textOf, until as come } from "../support/registry.ts";

const text = { response: z.object({ text: z.string() }) };
const tool = createMcpTool("t").description("d").durable({ version: "1", sealed: true })
  .elicits({ secret: { ...text, sensitive: ["text"] }, more: text })
  .execute(function* (_params, ctx) {
    const secret = yield* ctx.elicit("secret", { message: "?" });
    yield* ctx.elicit("more", { message: "?" });
    return secret.action === "accept" ? secret.content.text : "";
  });

const [KEY, OTHER] = [new Sealer("the key of the store"), new Sealer("another key")];

describe("a call with an answer that is sealed with another key", () => {
  it("does not continue, is not recorded as failed, and continues once the key is back", async () => {
    await Promise.resolve();
    const store = new InMemoryToolSessionStore();
    const first = serverOf(tool, { store, sealer: KEY });
    const { id } = first.registry.open(tool, {});
    const session = first.registry.find(id)!;
    session.respond(session.openRequests()[0]!.id, { action: "accept", content: { text: "hush" } });
    await idle();
    await first.registry.close();
    const before = await stored(store, id);
    for (let times = 0; times < 5; times++) {
      const { registry } = serverOf(tool, { store, sealer: OTHER });
      await assert.rejects(
        Promise.resolve(registry.lookup(id)),
        (error: unknown) => error instanceof SessionSealedError && error.sessionId === id,
      );
      await registry.close();
    }
    assert.deepEqual(await stored(store, id), before);
    const last = serverOf(tool, { store, sealer: KEY });
    const again = (await last.registry.lookup(id))!;
    await come(() => again.openRequests().length === 1);
    again.respond(again.openRequests()[0]!.id, { action: "accept", content: { text: "" } });
    assert.equal(await textOf(again), "hush");
    await last.registry.close();
  });

  it("is refused with a reason if its client carries the record", async () => {
    const at = (sealer: Sealer) =>
      createParley({ serve: [tool], state: "sealed", sealer, formPasswords: true });
    const [old, both, young] = [
      new Sealer("the old key"),
      new Sealer("the new key", "the old key"),
      new Sealer("the new key"),
    ];
    const call = { name: "t", arguments: {} };
    const answered = { secret: { action: "accept", content: { text: "hush" } } };
    const round = async (sealer: Sealer, more = {}) => {
      const server = at(sealer);
      try {
        return await new TestClient(server.fetch).request("tools/call", { ...call, ...more });
      } finally {
        await server.close();
      }
    };
    const { result: first } = await round(old);
    const { requestState } = first;
    const { result: second } = await round(old, { requestState, inputResponses: answered });
    // The state is sealed again, but not the answer in it.
    const { result: third } = await round(both, { requestState: second.requestState });
    const { error } = await round(young, { requestState: third.requestState });
    assert.match(error!.message, /^Cannot continue the call of "t": .* sealed with a key/);
  });
});

describe("createParley() over a store", () => {
  it("refuses a sealer without the key that the store was written with", function* () {
    const path = join(yield* useFolder(), "calls.db");
    const opened = yield* until(openStore(`sqlite:${path}`));
    try {
      const make = (sealer?: Sealer) =>
        createParley({ store: opened.sessions, ...(sealer && { sealer }) });
      yield* until(make(OTHER).close());
      // There was nothing that the other key could have sealed.
      yield* until(make(KEY).close());
      const entry = { id: "s", toolName: "t", params: {}, createdAt: 0, epoch: 1 };
      yield* opened.sessions.set("s", entry);
      yield* until(make(KEY).close());
      for (const wrong of [OTHER, new Sealer(), undefined]) {
        assert.throws(
          () => make(wrong),
          (error: unknown) => error instanceof StoreError && /another key/.test(error.message),
        );
      }
      const both = new Sealer("another key", "the key of the store");
      yield* until(make(both).close());
      // The call is from the time of the former key, and may need it.
      for (const one of [OTHER, KEY]) assert.throws(() => make(one), StoreError);
      yield* until(make(both).close());
      yield* opened.sessions.set("later", { ...entry, id: "later" });
      assert.throws(() => make(OTHER), StoreError);
      yield* opened.sessions.delete("s");
      yield* until(make(OTHER).close());
      assert.throws(() => make(KEY), StoreError);
    } finally {
      opened.close();
    }
  });

  it("saves no key for calls of an earlier version until something shows which is right", function* () {
    const path = join(yield* useFolder(), "calls.db");
    const opened = yield* until(openStore(`sqlite:${path}`));
    try {
      const make = (sealer: Sealer) => createParley({ store: opened.sessions, sealer });
      const entry = { id: "s", toolName: "t", params: {}, createdAt: 0, epoch: 1 };
      yield* opened.sessions.set("s", entry);
      yield* until(make(OTHER).close());
      yield* until(make(KEY).close());
      const answer = {
        type: "elicit_response",
        lsn: 1,
        requestId: "r",
        sealed: KEY.seal("{}", "r"),
      } as unknown as ToolSessionEvent;
      yield* opened.sessions.append("s", [answer], { afterLSN: 0, epoch: 1 });
      assert.throws(() => make(OTHER), /another key/);
      yield* until(make(KEY).close());
      assert.throws(() => make(OTHER), /another key/);
    } finally {
      opened.close();
    }
  });
});
