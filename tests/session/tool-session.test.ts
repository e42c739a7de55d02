import assert from "node:assert/strict";
import { all, type Operation, race, run, suspend } from "effection";
import { z } from "zod";
import type { ElicitRequest } from "../../src/model/events.ts";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { createMcpTool } from "../../src/tool/builder.ts";
import { LiveToolSession } from "../../src/session/tool-session.ts";
import { describe, it } from "../suite.ts";
import {
  accept,
  askTool,
  ended,
  follow,
  handleOf,
  idle,
  questionOf,
  textOf,
  tool,
  types,
  until,
  withRegistry,
} from "../support/registry.ts";

const SAID = { role: "assistant", model: "m", content: { type: "text", text: "said" } } as const;

/** Asks `n` and `m` at the same time. */
const both = tool(function* (ctx) {
  const keys = ["n", "m"];
  const ask = (key: string): Operation<{ content: { n: number } }> =>
    ctx.elicit(key, { message: "?" });
  const answers = yield* all(keys.map(ask));
  return answers.map(({ content }) => content.n).join(" ");
});

describe("ToolSession.status()", () => {
  it(
    "returns the status of a session, from its start to its end",
    withRegistry(async ({ registry, open }) => {
      const seen: string[] = [];
      const session = open(tool(function* (ctx) {
        const own = registry.find(ctx.sessionId)!;
        seen.push(own.currentStatus());
        yield* ctx.elicit("n", { message: "?" });
        seen.push(own.currentStatus());
        yield* ctx.sample({ prompt: "?" });
        yield* suspend();
        return "";
      }));
      assert.equal(session.currentStatus(), "awaiting_elicit");
      accept(session, { n: 1 });
      assert.equal(session.currentStatus(), "awaiting_sample");
      session.respond(questionOf(session), SAID);
      assert.equal(session.currentStatus(), "running");
      session.halt("enough");
      await ended(session);
      assert.equal(await run(() => handleOf(session).status()), "cancelled");
      assert.deepEqual(seen, ["running", "running"]);
      const unborn = new LiveToolSession(registry, "x", askTool, { capabilities: {} }, "");
      assert.equal(unborn.currentStatus(), "initializing");
    }),
  );

  it(
    "returns waiting for the person if both the person and the model are asked",
    withRegistry(async ({ open }) => {
      const session = open(tool(function* (ctx) {
        yield* all([ctx.sample({ prompt: "?" }), ctx.elicit("n", { message: "?" })]);
        return "";
      }));
      await until(() => session.openRequests().length === 2);
      assert.equal(session.currentStatus(), "awaiting_elicit");
      session.respond(questionOf(session, 1), { action: "decline" });
      assert.equal(session.currentStatus(), "awaiting_sample");
    }),
  );
});

describe("ToolSession.respondToElicit()", () => {
  it(
    "accepts answers in any order",
    withRegistry(async ({ open }) => {
      for (const order of [[0, 1], [1, 0]]) {
        const session = open(both);
        await until(() => session.openRequests().length === 2);
        const ids = session.openRequests().map(({ id }) => id);
        for (const nth of order) {
          session.respond(ids[nth]!, { action: "accept", content: { n: nth + 1 } });
        }
        assert.equal(await textOf(session), "1 2");
      }
    }),
  );

  it(
    "accepts the first answer, and reports what became of the others",
    withRegistry(async ({ open }) => {
      const session = open(both);
      await until(() => session.openRequests().length === 2);
      const [n, m] = session.openRequests().map(({ id }) => id) as [string, string];
      const respond = (id: string, content?: object) =>
        run(() =>
          handleOf(session).respondToElicit(
            id,
            content ? { action: "accept", content: { ...content } } : { action: "decline" },
          )
        );
      assert.equal(await respond(n, { n: 1 }), "accepted");
      assert.equal(await respond(n, { n: 1 }), "repeated");
      assert.equal(await respond(n, { n: 2 }), "conflicting");
      assert.equal(await respond(n, { n: 1, extra: 1 }), "conflicting");
      assert.equal(await respond(n), "conflicting");
      for (const id of ["nonsense", `${n}9`, m.replace(session.id, crypto.randomUUID())]) {
        assert.equal(await respond(id, { n: 1 }), "unknown", id);
      }
      assert.equal(await respond(m, { n: 2 }), "accepted");
      assert.equal(await textOf(session), "1 2");
      assert.equal(await respond(m, { n: 2 }), "repeated");
      assert.equal(await respond(m, { n: 3 }), "conflicting");
      assert.equal(await respond("nonsense"), "ended");
      assert.equal(types(session), "elicit_request,elicit_request,answer,answer,result");
    }),
  );

  it(
    "reports that a question was withdrawn, and later that the session has ended",
    withRegistry(async ({ open }) => {
      const session = open(tool(function* (ctx) {
        yield* race([ctx.elicit("n", { message: "?" }), ctx.elicit("m", { message: "?" })]);
        yield* ctx.elicit("n", { message: "the last" });
        return "";
      }));
      await until(() => session.openRequests().length === 2);
      const [winner, loser] = session.openRequests().map(({ id }) => id) as [string, string];
      session.respond(winner, { action: "decline" });
      await until(() => session.openRequests()[0]?.place.count === 1);
      assert.equal(session.respond(loser, { action: "decline" }), "withdrawn");
      assert.equal(
        types(session),
        "elicit_request,elicit_request,answer,withdrawn,elicit_request",
      );
      accept(session, { n: 1 });
      await ended(session);
      assert.equal(session.respond(loser, { action: "decline" }), "ended");
    }),
  );

  it(
    "knows no questions of another session",
    withRegistry(({ open }) => {
      const [a, b] = [open(askTool), open(askTool)];
      assert.equal(a.respond(questionOf(b), { action: "decline" }), "unknown");
      assert.equal(b.currentStatus(), "awaiting_elicit");
    }),
  );

  it(
    "treats an answer that is too old to compare as a repetition",
    withRegistry(async ({ open }) => {
      const session = open(tool(function* (ctx) {
        yield* ctx.elicit("n", { message: "?" });
        for (let n = 0; n < 10; n++) yield* ctx.notify("on");
        yield* ctx.elicit("m", { message: "?" });
        return "";
      }));
      const id = questionOf(session);
      accept(session, { n: 1 });
      assert.equal(session.respond(id, { action: "decline" }), "repeated");
      await idle();
    }, { limits: { maxEventsPerSession: 4 } }),
  );

  it(
    "leaves a question open if its answer cannot be recorded",
    withRegistry(async ({ open }) => {
      const session = open(
        createMcpTool("login").description("d")
          .elicits({ pin: { response: z.object({ pin: z.string() }), sensitive: ["pin"] } })
          .execute(function* (_params, ctx) {
            return (yield* ctx.elicit("pin", { message: "PIN?" })).action;
          }),
      );
      const id = questionOf(session);
      const content = { pin: 1n as unknown as string };
      assert.throws(() => session.respond(id, { action: "accept", content }), TypeError);
      assert.equal(session.currentStatus(), "awaiting_elicit");
      assert.equal(session.respond(id, { action: "decline" }), "accepted");
      assert.equal(await textOf(session), "decline");
    }, { store: new InMemoryToolSessionStore() }),
  );

  it(
    "may be called by a reader in the same turn in which the question is asked (QUESTION-1)",
    withRegistry(async ({ open }) => {
      const adding = tool(function* (ctx) {
        let sum = 0;
        for (let n = 0; n < 2_000; n++) {
          const { content } = yield* ctx.elicit("n", { message: "?" });
          sum += content.n;
        }
        return `${sum}`;
      });
      const raw = open(adding);
      raw.log.watch(() => raw.openRequests().length > 0 && accept(raw, { n: 1 }));
      accept(raw, { n: 1 });
      assert.equal(await textOf(raw), "2000");

      const read = open(adding);
      const reading = follow(read, 0, (event) => {
        if (event.type !== "elicit_request") return;
        assert.equal(
          read.respond(event.id, { action: "accept", content: { n: 1 } }),
          "accepted",
        );
      });
      await until(() => reading.outcome !== undefined);
      assert.equal(await textOf(read), "2000");
    }),
  );

  it(
    "may be called by a reader in the tool's first step",
    withRegistry(async ({ open, registry }) => {
      const session = open(tool(function* (ctx) {
        const own = registry.find(ctx.sessionId)!;
        own.log.watch(() => own.openRequests().length > 0 && accept(own, { n: 7 }));
        const { content } = yield* ctx.elicit("n", { message: "?" });
        return `${content.n}`;
      }));
      assert.equal(await textOf(session), "7");
    }),
  );
});

describe("a question whose answer does not fit the form", () => {
  it(
    "is asked again with the reason, and the tool does not notice",
    withRegistry(async ({ open }) => {
      const session = open(askTool);
      const first = session.openRequests()[0] as ElicitRequest;
      assert.equal(accept(session, { n: "seven" }), "accepted");
      const second = session.openRequests()[0] as ElicitRequest;
      assert.notEqual(second.id, first.id);
      assert.notEqual(second.name, first.name, "a name is never used twice");
      assert.equal(second.place.count, 1);
      assert.ok(second.params.message.startsWith(first.params.message));
      assert.match(second.params.message, /\bn\b.*number/);
      accept(session, { n: 7 });
      assert.equal(await textOf(session), "got 7");
      assert.equal(types(session), "elicit_request,answer,elicit_request,answer,result");
    }),
  );

  it(
    "is asked again three times at most",
    withRegistry(async ({ open }) => {
      const session = open(askTool);
      for (let n = 0; n < 4; n++) accept(session, { n: "never" });
      const outcome = await ended(session);
      assert.equal(outcome.status, "completed");
      assert.equal((outcome as { result: { isError?: boolean } }).result.isError, true);
      assert.match(await textOf(session), /"n"/);
      assert.equal(types(session).match(/elicit_request/g)?.length, 4);
    }),
  );
});

describe("ctx.elicit() with a timeout", () => {
  const patient = tool(function* (ctx) {
    const { action } = yield* ctx.elicit("n", { message: "?" }, { timeout: 1_000 });
    if (action !== "timeout") return action;
    const second = yield* ctx.elicit("m", { message: "?" });
    return `fell back: ${second.action}`;
  });

  it(
    "returns its own outcome, and withdraws the question",
    withRegistry(async ({ open, clock }) => {
      const session = open(patient);
      const id = questionOf(session);
      clock.advance(999);
      assert.equal(session.openRequests()[0]?.id, id);
      clock.advance(1);
      assert.deepEqual(session.openRequests().map(({ place }) => place.key), ["m"]);
      assert.deepEqual(session.log.after(1)[0], {
        lsn: 2,
        type: "withdrawn",
        requestId: id,
        reason: "timeout",
      });
      assert.equal(session.respond(id, { action: "accept", content: { n: 1 } }), "withdrawn");
      session.respond(questionOf(session), { action: "decline" });
      assert.equal(await textOf(session), "fell back: decline");
    }),
  );

  it(
    "leaves no timer behind when it is answered",
    withRegistry(async ({ open, clock, registry }) => {
      const session = open(patient);
      registry.hold(session);
      assert.equal(registry.counts.deadlines, 1);
      session.respond(questionOf(session), { action: "decline" });
      assert.equal(await textOf(session), "decline");
      assert.deepEqual([registry.counts.deadlines, clock.timers], [0, 0]);
    }),
  );
});

describe("ToolSession.getEvents()", () => {
  it(
    "gives every reader all events and the outcome, whenever it joins",
    withRegistry(async ({ open }) => {
      const session = open(both);
      const early = follow(session);
      await until(() => session.openRequests().length === 2);
      const middle = follow(session, 1);
      accept(session, { n: 1 });
      const ahead = follow(session, 99);
      accept(session, { n: 2 });
      await ended(session);
      const late = [follow(session), follow(session, 4), follow(session, 5)];
      const readers = [early, middle, ahead, ...late];
      await until(() => readers.every(({ outcome }) => outcome !== undefined));
      const all = session.log.after(0);
      assert.deepEqual(early.events, all);
      assert.deepEqual(middle.events, all.slice(1));
      assert.deepEqual(ahead.events, []);
      assert.deepEqual(late.map(({ events }) => events), [all, all.slice(4), []]);
      for (const { outcome } of readers) assert.equal(outcome, session.outcome);
    }),
  );

  it(
    "throws for a reader that is too far behind, while others read on",
    withRegistry(async ({ open }) => {
      const session = open(tool(function* (ctx) {
        for (let n = 0; n < 20; n++) yield* ctx.notify("on");
        yield* ctx.elicit("n", { message: "?" });
        return "";
      }));
      const [behind, abreast] = [follow(session, 3), follow(session, 20)];
      await until(() => behind.error !== undefined);
      const { code, firstLSN } = behind.error as { code: string; firstLSN: number };
      assert.deepEqual([code, firstLSN], ["PARLEY_EVENTS_GONE", session.log.firstLSN]);
      const told = follow(session, firstLSN - 1);
      session.halt("enough");
      await until(() => abreast.outcome !== undefined && told.outcome !== undefined);
      assert.deepEqual(abreast.events.map(({ lsn }) => lsn), [21, 22, 23]);
      assert.equal(told.events[0]?.lsn, firstLSN);
    }, { limits: { maxEventsPerSession: 5 } }),
  );

  it(
    "may be halted at any time, and the tool continues without readers",
    withRegistry(async ({ open, clock }) => {
      const session = open(askTool);
      const reader = follow(session);
      await idle();
      await reader.leave();
      clock.advance(3_599_000);
      accept(session, { n: 3 });
      assert.equal(await textOf(session), "got 3");
      assert.equal(reader.events.length, 1);
    }),
  );
});
