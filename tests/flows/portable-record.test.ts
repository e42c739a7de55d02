import assert from "node:assert/strict";
import { all } from "effection";
import { z } from "zod";
import {
  createManualClock,
  createMcpTool,
  createParley,
  type Fault,
  type Parley,
  type ParleyOptions,
  Sealer,
} from "../../src/mod.ts";
import { ABLE_WITH_TASKS, TASKS, TestClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";

// Calls whose record travels with the client: any server with the key can continue them.

const name = { response: z.object({ name: z.string() }) };
const answer = (name: string) => ({ action: "accept", content: { name } });
const KEY = "the same key on every server";

interface Round {
  readonly resultType: string;
  readonly requestState: string;
  readonly inputRequests: Record<string, unknown>;
}

function orderTool(paid: string[] = [], { version = "1", padding = 0, sealed = true } = {}) {
  return createMcpTool("order").description("d").durable({ version, sealed })
    .parameters(z.object({ city: z.string().default("Bern") }))
    .elicits({
      who: name,
      gift: name,
      secret: { response: z.object({ name: z.string() }), sensitive: ["name"] },
    })
    .execute(function* ({ city }, ctx) {
      const who = yield* ctx.elicit("who", { message: "Who?" });
      const id = yield* ctx.uuid();
      yield* ctx.step("pay", function* (key) {
        paid.push(key);
        return "x".repeat(padding);
      });
      const secret = yield* ctx.elicit("secret", { message: "Secret?" });
      const again = yield* ctx.elicit("gift", { message: `What, from ${city}?` });
      if (who.action !== "accept" || again.action !== "accept") return "nothing";
      const known = secret.action === "accept" ? secret.content.name : "";
      return `${again.content.name} for ${who.content.name}, ${known}, ${id.length}`;
    });
}

/** Several identical servers at once. */
async function fleet(
  options: ParleyOptions,
  body: (servers: readonly Parley[]) => Promise<void>,
  size = 3,
): Promise<void> {
  const servers = Array.from(
    { length: size },
    () =>
      createParley({
        state: "sealed",
        sealer: new Sealer(KEY),
        formPasswords: true,
        ...options,
      }),
  );
  try {
    await body(servers);
  } finally {
    for (const server of servers) await server.close();
  }
}

function client(server: Parley, options = {}): TestClient {
  return new TestClient(server.fetch, options);
}

const CALL = { name: "order", arguments: {} };

async function round(server: Parley, state?: string, inputResponses?: object): Promise<Round> {
  return await client(server).result("tools/call", {
    ...CALL,
    ...(state !== undefined && { requestState: state, inputResponses }),
  }) as unknown as Round;
}

describe("a call with a portable record", () => {
  it("continues with any server that gets it, and nothing is done twice", () => {
    const paid: string[] = [];
    return fleet({ serve: [orderTool(paid)] }, async ([a, b, c]) => {
      const first = await round(a!);
      assert.deepEqual(Object.keys(first.inputRequests), ["who"]);
      const second = await round(b!, first.requestState, { who: answer("Ada") });
      assert.deepEqual(Object.keys(second.inputRequests), ["secret"]);
      const third = await round(c!, second.requestState, { secret: answer("hush") });
      assert.deepEqual(Object.keys(third.inputRequests), ["gift"]);
      const last = await round(a!, third.requestState, { gift: answer("tea") });
      assert.match(JSON.stringify(last), /tea for Ada, hush, 36/);
      assert.equal(paid.length, 1);
    });
  });

  it("continues at a server that no longer asks for passwords in forms", () =>
    fleet(
      { serve: [orderTool()] },
      ([a]) =>
        fleet({ serve: [orderTool()], formPasswords: false }, async ([b]) => {
          const first = await round(a!);
          const second = await round(a!, first.requestState, { who: answer("Ada") });
          // The question was asked already, so its answer is accepted; later it is on record.
          const third = await round(b!, second.requestState, { secret: answer("hush") });
          assert.deepEqual(Object.keys(third.inputRequests), ["gift"]);
          const last = await round(b!, third.requestState, { gift: answer("tea") });
          assert.match(JSON.stringify(last), /tea for Ada, hush, 36/);
          // A question that was not asked before is not asked there.
          const anew = await round(b!, (await round(b!)).requestState, { who: answer("Ada") });
          assert.match(JSON.stringify(anew), /this server does not allow passwords in forms/);
        }),
    ));

  it("returns to a server that knows less of it, or something else", () => {
    const paid: string[] = [];
    return fleet({ serve: [orderTool(paid)] }, async ([a, b]) => {
      const first = await round(a!);
      const ada = await round(b!, first.requestState, { who: answer("Ada") });
      // The same round at another server, with another answer: neither server knows of the other.
      const eve = await round(a!, first.requestState, { who: answer("Eve") });
      const next = await round(a!, ada.requestState, { secret: answer("1") });
      const last = await round(a!, next.requestState, { gift: answer("tea") });
      assert.match(JSON.stringify(last), /tea for Ada/);
      const other = await round(b!, eve.requestState, { secret: answer("2") });
      assert.match(
        JSON.stringify(await round(b!, other.requestState, { gift: answer("salt") })),
        /salt for Eve/,
      );
      // Twice, with the same idempotency key: the recipient can tell.
      assert.equal(paid.length, 2);
      assert.equal(new Set(paid).size, 1);
    });
  });

  it("sees the same uuid and random number when a round is repeated", () => {
    interface Seen {
      readonly key: string;
      readonly made: unknown;
    }
    const seen: Seen[] = [];
    const tool = createMcpTool("order").description("d").durable({ sealed: true })
      .elicits({ who: name, gift: name })
      .execute(function* (_params, ctx) {
        yield* ctx.elicit("who", { message: "Who?" });
        const made = [yield* ctx.uuid(), yield* ctx.uuid(), yield* ctx.random()];
        const parts = yield* all([0, 1].map(() =>
          ctx.branch(function* (inner) {
            return [yield* inner.uuid(), yield* inner.random()];
          })
        ));
        yield* ctx.step("pay", function* (key) {
          seen.push({ key, made: [made, parts] });
        });
        yield* ctx.elicit("gift", { message: "What?" });
        return "";
      });
    return fleet({ serve: [tool] }, async ([a, b, c]) => {
      const { requestState } = await round(a!);
      for (const server of [a, b, c]) await round(server!, requestState, { who: answer("Ada") });
      assert.equal(seen.length, 3);
      for (const one of seen) assert.deepEqual(one, seen[0]);
      const values = (seen[0]!.made as unknown[]).flat(3);
      assert.equal(new Set(values).size, 7, "no value is another one's");
      for (const value of values) {
        if (typeof value === "string") {
          assert.match(
            value,
            /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
          );
        } else assert.ok((value as number) >= 0 && (value as number) < 1);
      }
      const other = await round(a!);
      await round(b!, other.requestState, { who: answer("Ada") });
      const others = (seen[3]!.made as unknown[]).flat(3);
      assert.ok(!others.some((value) => values.includes(value)), "another call has others");
    });
  });

  it("accepts the same retry twice, at once or later, and executes it once on one server", () => {
    const paid: string[] = [];
    return fleet({ serve: [orderTool(paid)] }, async ([a, b]) => {
      const first = await round(a!);
      const retries = await Promise.all(
        Array.from({ length: 5 }, () => round(b!, first.requestState, { who: answer("Ada") })),
      );
      for (const { inputRequests } of retries) assert.ok(inputRequests["secret"]);
      await round(b!, first.requestState, { who: answer("Ada") });
      assert.equal(paid.length, 1);
      const conflict = await client(b!).start("tools/call", {
        ...CALL,
        requestState: first.requestState,
        inputResponses: { who: answer("Eve") },
      });
      assert.match(JSON.stringify(await conflict.rest()), /already has a different answer/);
    });
  });

  it("uses no memory once its client has had time to answer", () => {
    const clock = createManualClock();
    return fleet({ serve: [orderTool()], clock }, async ([a]) => {
      const first = await round(a!);
      assert.equal(a!.counts.live, 1);
      clock.advance(60_000);
      while (a!.counts.live > 0) await Promise.resolve();
      const second = await round(a!, first.requestState, { who: answer("Ada") });
      assert.ok(second.inputRequests["secret"]);
    });
  });

  it("is refused with other arguments, another caller, another key, or after it expired", () => {
    const clock = createManualClock();
    return fleet({ serve: [orderTool()], clock }, async ([a]) => {
      const { requestState } = await round(a!);
      const refused = async (server: Parley, params: object) => {
        const response = await client(server).start("tools/call", {
          ...CALL,
          requestState,
          inputResponses: { who: answer("Ada") },
          ...params,
        });
        assert.match(JSON.stringify(await response.rest()), /requestState is not valid/);
      };
      await refused(a!, { arguments: { city: "Basel" } });
      await refused(a!, { requestState: `${requestState.slice(0, -2)}AA` });
      await fleet({ serve: [orderTool()], sealer: new Sealer("another key") }, async ([other]) => {
        await refused(other!, {});
      });
      await fleet({ serve: [orderTool()], clock, principal: () => "eve" }, async ([other]) => {
        await refused(other!, {});
      });
      clock.advance(8 * 24 * 3_600_000);
      await refused(a!, {});
    });
  });

  it("reveals neither its content nor its secrets", () =>
    fleet({ serve: [orderTool()] }, async ([a, b]) => {
      const first = await round(a!);
      const second = await round(b!, first.requestState, { who: answer("Ada") });
      const third = await round(a!, second.requestState, { secret: answer("hunter2") });
      for (const { requestState } of [first, second, third]) {
        const text = atob(requestState.replaceAll("-", "+").replaceAll("_", "/"));
        for (const word of ["Ada", "hunter2", "order", "elicit"]) assert.ok(!text.includes(word));
      }
    }));

  it("is not revived by another version of its tool", () =>
    fleet({ serve: [orderTool()] }, async ([a]) => {
      const { requestState } = await round(a!);
      await fleet({ serve: [orderTool([], { version: "2" })] }, async ([newer]) => {
        const response = await client(newer!).start("tools/call", {
          ...CALL,
          requestState,
          inputResponses: { who: answer("Ada") },
        });
        assert.match(
          JSON.stringify(await response.rest()),
          /version 1 of the tool began this call/,
        );
      });
    }));

  it("stays with its server once its record is too large, which is reported to the operator", () => {
    const faults: Fault[] = [];
    // Random data, because it cannot be compressed.
    const noise = createMcpTool("order").description("d").durable({ sealed: true })
      .elicits({ who: name, gift: name })
      .execute(function* (_params, ctx) {
        yield* ctx.elicit("who", { message: "Who?" });
        yield* ctx.step("noise", function* () {
          return Array.from({ length: 4_000 }, () => crypto.randomUUID());
        });
        yield* ctx.elicit("gift", { message: "What?" });
        return "done";
      });
    return fleet({ serve: [noise], report: (fault) => faults.push(fault) }, async ([a, b]) => {
      const first = await round(a!);
      const second = await round(b!, first.requestState, { who: answer("Ada") });
      assert.ok(second.requestState.length < 1_000);
      assert.match(
        String(faults[0]!.error),
        /larger than 64 KiB; only this server can continue the call/,
      );
      const lost = await client(a!).start("tools/call", {
        ...CALL,
        requestState: second.requestState,
        inputResponses: { gift: answer("tea") },
      });
      assert.match(JSON.stringify(await lost.rest()), /the server no longer has it/);
      const last = await round(b!, second.requestState, { gift: answer("tea") });
      assert.match(JSON.stringify(last), /done/);
    });
  });

  it("is halted with its server once its record is no longer portable", () => {
    const clock = createManualClock();
    let left = 0;
    const tool = createMcpTool("order").description("d").durable({ sealed: true })
      .elicits({ who: name })
      .execute(function* (_params, ctx) {
        yield* ctx.step("noise", function* () {
          return Array.from({ length: 4_000 }, () => crypto.randomUUID());
        });
        try {
          yield* ctx.elicit("who", { message: "Who?" });
        } finally {
          left++;
        }
        return "done";
      });
    return fleet({ serve: [tool], clock, report: () => {} }, async ([a]) => {
      await round(a!);
      clock.advance(60_000);
      await Promise.resolve();
      assert.equal(a!.counts.live, 1, "it cannot leave memory");
      clock.advance(3_600_000);
      assert.equal(left, 1);
    });
  });

  it("requires the tool's consent: without it, the state only names the call", () =>
    fleet({ serve: [orderTool([], { sealed: false })] }, async ([a, b]) => {
      const first = await round(a!);
      const elsewhere = await client(b!).start("tools/call", {
        ...CALL,
        requestState: first.requestState,
        inputResponses: { who: answer("Ada") },
      });
      assert.match(JSON.stringify(await elsewhere.rest()), /the server no longer has it/);
      assert.ok((await round(a!, first.requestState, { who: answer("Ada") })).inputRequests);
    }));

  it("requires the operator's consent too", () =>
    fleet({ serve: [orderTool()], state: "here" }, async ([a, b]) => {
      const first = await round(a!);
      const elsewhere = await client(b!).start("tools/call", {
        ...CALL,
        requestState: first.requestState,
        inputResponses: { who: answer("Ada") },
      });
      assert.match(JSON.stringify(await elsewhere.rest()), /the server no longer has it/);
    }));

  it("is kept on this server as a task, because its client has only the name", () => {
    const tool = createMcpTool("order").description("d").durable({ sealed: true }).task()
      .elicits({ who: name })
      .execute(function* (_params, ctx) {
        yield* ctx.elicit("who", { message: "Who?" });
        return "done";
      });
    return fleet({ serve: [tool] }, async ([a]) => {
      const task = await client(a!, { capabilities: ABLE_WITH_TASKS }).result("tools/call", CALL);
      assert.equal(task["resultType"], "task", TASKS);
      const got = await client(a!, { capabilities: ABLE_WITH_TASKS })
        .result("tasks/get", { taskId: task["taskId"] });
      assert.equal(got["status"], "input_required");
    });
  });
});
