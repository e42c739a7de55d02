import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { createMcpTool, createParley, type Parley, Sealer } from "../../src/mod.ts";
import { openSqlite, type SqliteStores } from "../../src/store/sqlite.ts";
import { ModernClient } from "../support/modern-client.ts";
import { describe, it } from "../suite.ts";

/** One server after another over the same file, with the same key. */
class Life {
  readonly folder = mkdtempSync(join(tmpdir(), "parley-life-"));
  readonly done: string[] = [];
  readonly #key = "a key that outlasts the server";
  #stores: SqliteStores | undefined;
  #parley: Parley | undefined;

  readonly tool = (() => {
    const { done } = this;
    const name = { response: z.object({ name: z.string() }) };
    return createMcpTool("order").description("d").durable()
      .elicits({ who: name, gift: name })
      .execute(function* (_params, ctx) {
        const who = yield* ctx.elicit("who", { message: "Who?" });
        if (who.action !== "accept") return "nobody";
        yield* ctx.step("pay", function* (key) {
          done.push(key);
        });
        const gift = yield* ctx.elicit("gift", { message: "What?" });
        return gift.action === "accept" ? `${gift.content.name} for ${who.content.name}` : "";
      });
  })();

  /** Starts a server, as if the one before had been killed. */
  start(): ModernClient {
    this.#stores = openSqlite(join(this.folder, "store.db"));
    this.#parley = createParley({
      serve: [this.tool],
      store: this.#stores.sessions,
      sealer: new Sealer(this.#key),
    });
    return new ModernClient(this.#parley.fetch);
  }

  /** Ends a server in good order. */
  async stop(): Promise<void> {
    await this.#parley?.close();
    this.#stores?.close();
    this.#parley = this.#stores = undefined;
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

interface InputRequired {
  readonly resultType: string;
  readonly requestState: string;
  readonly inputRequests: Record<string, unknown>;
}

const answer = (name: string) => ({ action: "accept", content: { name } });

describe("a durable call of a modern client", () => {
  it("goes on with another server over the same file, and pays once", async () => {
    const life = new Life();
    try {
      const call = { name: "order", arguments: {} };
      const first = (await life.start().result("tools/call", call)) as unknown as InputRequired;
      assert.deepEqual(Object.keys(first.inputRequests), ["who"]);
      await life.stop();
      const second = (await life.start().result("tools/call", {
        ...call,
        requestState: first.requestState,
        inputResponses: { who: answer("Ada") },
      })) as unknown as InputRequired;
      assert.deepEqual(Object.keys(second.inputRequests), ["gift"]);
      await life.stop();
      const client = life.start();
      const retry = {
        ...call,
        requestState: second.requestState,
        inputResponses: { gift: answer("a book") },
      };
      const last = await client.result("tools/call", retry);
      assert.match(JSON.stringify(last), /a book for Ada/);
      assert.deepEqual(await client.result("tools/call", retry), last, "the same retry again");
      assert.equal(life.done.length, 1);
    } finally {
      await life.end();
    }
  });
});
