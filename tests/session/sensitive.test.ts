import assert from "node:assert/strict";
import { run } from "effection";
import { z } from "zod";
import type { ElicitResult, ElicitTimeout } from "../../src/tool/elicit-types.ts";
import { Sealer } from "../../src/lib/sealer.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { createMcpTool } from "../../src/tool/builder.ts";
import { describe, it } from "../suite.ts";
import { accept, ended, questionOf, textOf, withRegistry } from "../support/registry.ts";

const SECRET = "hunter2-correct-horse";

const results: (ElicitResult<unknown, unknown> | ElicitTimeout)[] = [];
const login = createMcpTool("login").description("d")
  .elicits({
    account: {
      response: z.object({ user: z.string(), password: z.string().min(8), pin: z.number() }),
      sensitive: ["password", "pin"],
    },
  })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("account", { message: "Who are you?" });
    results.push(answer);
    if (answer.action !== "accept") return answer.action;
    yield* ctx.elicit("account", { message: "Again?" });
    return `${answer.content.password.length} ${answer.content.pin}`;
  });

const content = { user: "ada", password: SECRET, pin: 73019 };

describe("sensitive fields in an answer", () => {
  it(
    "reach the tool, and are masked in the events and in the exchange",
    withRegistry(async ({ open }) => {
      const session = open(login);
      accept(session, content);
      const answer = session.log.after(1)[0];
      assert.equal(answer?.type, "answer");
      const masked = (answer as { response: { content: Record<string, unknown> } }).response;
      assert.equal(masked.content["user"], "ada");
      assert.notEqual(masked.content["password"], SECRET);
      assert.equal(typeof masked.content["pin"], "string");
      const result = results.at(-1)!;
      assert.equal(result.action, "accept");
      assert.deepEqual((result as { content: unknown }).content, content);
      const { exchange } = result as { exchange: { messages: unknown } };
      assert.ok(JSON.stringify(exchange.messages).includes("ada"));
      for (const shown of [session.log.after(0), exchange]) {
        assert.ok(!/hunter2|73019/.test(JSON.stringify(shown)));
      }
      session.respond(questionOf(session), { action: "decline" });
      assert.equal(await textOf(session), `${SECRET.length} 73019`);
      assert.ok(!("sealed" in answer!), "without a store there is nothing to seal for");
    }),
  );

  it(
    "are masked too in answers that do not fit, or are not accepted",
    withRegistry(async ({ open }) => {
      const session = open(login);
      accept(session, { user: "ada", password: "hunter2", pin: 73019 });
      accept(session, { user: "ada", password: SECRET, pin: "73019" });
      const id = questionOf(session);
      session.respond(id, { action: "decline", content: { ...content } });
      await ended(session);
      assert.equal(session.log.after(0).filter(({ type }) => type === "answer").length, 3);
      assert.ok(!/hunter2|73019/.test(JSON.stringify(session.log.after(0))));
    }),
  );

  it(
    "are not exposed by a client that sends them in another form",
    withRegistry(({ open }) => {
      const session = open(login);
      for (const odd of [SECRET, [SECRET], [{ password: SECRET }]]) {
        session.respond(questionOf(session), { action: "accept", content: odd as never });
      }
      assert.ok(!JSON.stringify(session.log.after(0)).includes("hunter2"));
    }),
  );

  it("are sealed in the store, bound to the question they answer", async () => {
    const store = new InMemoryToolSessionStore();
    const sealer = new Sealer("a key");
    const kept: Record<string, string> = {};
    await withRegistry(async ({ open, registry }) => {
      const session = open(login);
      const id = questionOf(session);
      accept(session, content);
      const stored = await run(() => store.read(session.id));
      const text = JSON.stringify([stored, await run(() => store.get(session.id))]);
      assert.ok(!/hunter2|73019/.test(text), text);
      const { sealed } = stored[1] as { sealed: string };
      kept[id] = sealed;
      assert.deepEqual(JSON.parse(sealer.open(sealed, id)!), content);
      assert.equal(sealer.open(sealed, `${id}0`), undefined, "it belongs to this question");
      assert.equal(new Sealer("another key").open(sealed, id), undefined);
      assert.equal(registry.sealer, sealer);
    }, { store, sealer })();
    const [id, sealed] = Object.entries(kept)[0]!;
    assert.deepEqual(JSON.parse(new Sealer("a key").open(sealed, id)!), content);
  });

  it(
    "do not make a repeated answer look different, nor a different one look repeated",
    withRegistry(({ open }) => {
      const session = open(login);
      const id = questionOf(session);
      accept(session, content);
      const again = (content: object) =>
        session.respond(id, { action: "accept", content: { ...content } });
      assert.equal(again(content), "repeated");
      assert.equal(again({ ...content, user: "eve" }), "conflicting");
    }),
  );
});
