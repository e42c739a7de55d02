import assert from "node:assert/strict";
import {
  createMcpPrompt,
  createMcpResource,
  createMcpTool,
  InMemoryToolSessionStore,
} from "parley-mcp";
import { z } from "zod";
import { accept, asked, said, TestClient, textOf } from "../../support/modern/client.ts";
import { serving } from "../../support/modern/server.ts";
import { Gate } from "../../support/gate.ts";
import { greet, greetAll } from "../../support/tools.ts";
import { idle, until } from "../../support/turn.ts";
import { describe, it } from "../../suite.ts";

const town = { town: { response: z.object({ town: z.string() }) } };

const prompt = createMcpPrompt("welcome").description("A welcome").elicits(town)
  .execute(function* (_args, ctx) {
    const answer = yield* ctx.elicit("town", { message: "Where?" });
    return answer.action === "accept" ? `Welcome to ${answer.content.town}` : "Welcome";
  });

const resource = createMcpResource("map").uri("map://town").mimeType("text/plain").elicits(town)
  .read(function* (_address, ctx) {
    const answer = yield* ctx.elicit("town", { message: "Which town?" });
    return answer.action === "accept" ? `Map of ${answer.content.town}` : "No map";
  });

const mixed = createMcpTool("mixed").description("Asks for everything").elicits(town)
  .execute(function* (_params, ctx) {
    const where = yield* ctx.elicitUrl({ message: "Log in", url: "https://example.com/login" });
    const roots = yield* ctx.roots();
    const { text } = yield* ctx.sample({ prompt: "Name a town", maxTokens: 9 });
    return `${where.action}, ${roots.map(({ uri }) => uri)}, ${text}`;
  });

const serve = [greet, greetAll, prompt, resource, mixed];

function testing(body: (client: TestClient) => Promise<void>): () => Promise<void> {
  return () => serving({ serve }, ({ fetch }) => body(new TestClient(fetch)));
}

describe("a call that asks", () => {
  it(
    "ends its request with the question and a state, and continues with the answer",
    testing(async (client) => {
      const exchange = await client.start("tools/call", { name: "greet" });
      assert.equal(exchange.response.headers.get("content-type"), "application/json");
      const result = await exchange.result();
      assert.deepEqual(result.inputRequests, {
        name: {
          method: "elicitation/create",
          params: {
            mode: "form",
            message: "Who?",
            requestedSchema: result.inputRequests.name.params.requestedSchema,
          },
        },
      });
      assert.ok(!("ttlMs" in result));
      const { requestState } = result;
      const inputResponses = { name: accept({ name: "Ada" }) };
      const done = await client.call("greet", undefined, { requestState, inputResponses });
      assert.equal(textOf(done), "Hello, Ada!");
    }),
  );

  it(
    "numbers questions that share a key, and never reuses a name",
    testing(async (client) => {
      let result = await client.call("greet_all", { count: 3 });
      const keys: string[] = [];
      const states = new Set<string>();
      while (result.resultType === "input_required") {
        const [key = ""] = asked(result);
        const { requestState } = result;
        keys.push(key);
        states.add(requestState);
        const inputResponses = { [key]: accept({ name: `N${keys.length}` }) };
        result = await client.call("greet_all", { count: 3 }, { requestState, inputResponses });
      }
      assert.deepEqual(keys, ["name", "name_2", "name_3"]);
      assert.equal(states.size, 3);
      assert.equal(textOf(result), "Hello, N1 and N2 and N3!");
    }),
  );

  it(
    "asks again for missing answers, and ignores answers that nobody asked for",
    testing(async (client) => {
      const first = await client.call("greet");
      for (const inputResponses of [undefined, {}, { other: accept({ name: "Eve" }) }]) {
        const { requestState } = first;
        const again = await client.call("greet", {}, {
          requestState,
          ...(inputResponses && { inputResponses }),
        });
        assert.deepEqual(again.inputRequests, first.inputRequests);
      }
      const { requestState } = first;
      const inputResponses = { other: 1, name: accept({ name: "Ada" }) };
      const done = await client.call("greet", {}, { requestState, inputResponses });
      assert.equal(textOf(done), "Hello, Ada!");
    }),
  );

  it(
    "asks again under a new name, with the reason, for an invalid answer",
    testing(async (client) => {
      let result = await client.call("greet");
      const bad = [accept({ name: "A" }), accept({ name: 5 }), { action: "shout" }];
      for (const [i, answer] of bad.entries()) {
        const { requestState } = result;
        const key = asked(result)[0]!;
        result = await client.call("greet", {}, {
          requestState,
          inputResponses: { [key]: answer },
        });
        assert.deepEqual(asked(result), [`name_${i + 2}`]);
        const { message } = result.inputRequests[`name_${i + 2}`].params;
        assert.match(message, /^Who\?\n\nThe last answer could not be used: /);
      }
      const { requestState } = result;
      const inputResponses = { name_4: { action: "decline" } };
      assert.equal(
        textOf(await client.call("greet", {}, { requestState, inputResponses })),
        "decline",
      );
    }),
  );

  it(
    "treats any malformed value as an invalid answer",
    testing(async (client) => {
      for (const answer of [null, 12345, "Ada", [], { error: null }, { error: { message: "x" } }]) {
        const { requestState } = await client.call("greet");
        const inputResponses = { name: answer };
        const result = await client.call("greet", {}, { requestState, inputResponses });
        assert.deepEqual(asked(result), ["name_2"]);
      }
    }),
  );

  it(
    "refuses inputResponses that are not an object",
    testing(async (client) => {
      for (const inputResponses of [null, 1, "x", []]) {
        const error = await client.error("tools/call", { name: "greet", inputResponses });
        assert.equal(error.code, -32602);
      }
    }),
  );

  it(
    "asks every kind of question, and accepts every kind of answer",
    testing(async (client) => {
      const first = await client.call("mixed");
      const { elicitationId, ...params } = first.inputRequests.url.params;
      assert.equal(typeof elicitationId, "string");
      assert.deepEqual(params, {
        mode: "url",
        message: "Log in",
        url: "https://example.com/login",
      });
      assert.deepEqual(Object.keys(first.inputRequests), ["url"]);
      assert.equal(first.inputRequests.url.method, "elicitation/create");
      const second = await client.call("mixed", {}, {
        requestState: first.requestState,
        inputResponses: { url: { action: "accept" } },
      });
      assert.deepEqual(second.inputRequests, { roots: { method: "roots/list" } });
      const third = await client.call("mixed", {}, {
        requestState: second.requestState,
        inputResponses: { roots: { roots: [{ uri: "file:///a" }] } },
      });
      assert.deepEqual(third.inputRequests, {
        sample: {
          method: "sampling/createMessage",
          params: {
            messages: [{ role: "user", content: { type: "text", text: "Name a town" } }],
            maxTokens: 9,
          },
        },
      });
      const done = await client.call("mixed", {}, {
        requestState: third.requestState,
        inputResponses: { sample: said("Graz") },
      });
      assert.equal(textOf(done), "accept, file:///a, Graz");
    }),
  );

  it(
    "reports an invalid sample or invalid roots to the model",
    testing(async (client) => {
      for (const roots of [null, {}, { roots: 1 }]) {
        const { requestState } = await client.call("mixed", {}, {
          inputResponses: { url: { action: "accept" } },
        });
        const result = await client.call("mixed", {}, { requestState, inputResponses: { roots } });
        assert.equal(result.isError, true);
      }
    }),
  );
});

describe("a call whose events are stored", () => {
  it("asks only questions that are recorded, and continues only with recorded answers", async () => {
    const store = new InMemoryToolSessionStore();
    await serving({ serve, store }, async ({ fetch }) => {
      const client = new TestClient(fetch);
      const flow = async (who: string) => {
        const inputResponses = { name: accept({ name: who }) };
        const first = await client.call("greet_all", { count: 2 }, { inputResponses });
        assert.deepEqual(asked(first), ["name_2"]);
        const { requestState } = first;
        const retry = { requestState, inputResponses: { name_2: accept({ name: "Bob" }) } };
        const results = await Promise.all(
          [1, 2, 3].map(() => client.call("greet_all", { count: 2 }, retry)),
        );
        for (const result of results) assert.equal(textOf(result), `Hello, ${who} and Bob!`);
      };
      await Promise.all(["Ada", "Cy", "Di"].map(flow));
    });
  });
});

describe("prompts/get and resources/read", () => {
  it(
    "ask and continue as a tool does",
    testing(async (client) => {
      for (
        const [method, params] of [
          ["prompts/get", { name: "welcome" }],
          ["resources/read", { uri: "map://town" }],
        ] as const
      ) {
        const first = await client.result(method, params);
        assert.deepEqual(asked(first), ["town"]);
        const { requestState } = first;
        const inputResponses = { town: accept({ town: "Graz" }) };
        const done = await client.result(method, { ...params, requestState, inputResponses });
        assert.match(JSON.stringify(done), /Welcome to Graz|Map of Graz/);
        assert.equal(done.resultType, "complete");
        assert.equal("ttlMs" in done, method === "resources/read");
      }
    }),
  );
});

describe("inputResponses without a requestState", () => {
  it(
    "start a new run, and answer the first question with their key",
    testing(async (client) => {
      const inputResponses = { name: accept({ name: "Ada" }) };
      assert.equal(textOf(await client.call("greet", {}, { inputResponses })), "Hello, Ada!");
      const next = await client.call("greet_all", { count: 2 }, { inputResponses });
      assert.deepEqual(asked(next), ["name_2"]);
      assert.equal(next.inputRequests.name_2.params.message, "Who is number 2?");
    }),
  );

  it("answer a later question, without asking anybody", async () => {
    const gate = new Gate();
    const later = createMcpTool("later").description("Asks later").elicits(town)
      .execute(function* (_params, ctx) {
        yield* gate.pass();
        const answer = yield* ctx.elicit("town", { message: "Where?" });
        return answer.action === "accept" ? answer.content.town : answer.action;
      });
    await serving({ serve: [later] }, async ({ fetch, clock }) => {
      const client = new TestClient(fetch);
      const inputResponses = { town: accept({ town: "Graz" }) };
      const call = () => client.start("tools/call", { name: "later", inputResponses });
      const streaming = call();
      await until(() => gate.waiting === 1);
      clock.advance(100);
      const deciding = call();
      await until(() => gate.waiting === 2);
      // The reader waits already, and would get a question at once.
      const read = (await streaming).text();
      await idle();
      gate.open();
      assert.equal(await read, "Graz");
      assert.equal(await (await deciding).text(), "Graz");
    });
  });

  it(
    "are asked for again with the reason if they do not fit",
    testing(async (client) => {
      const inputResponses = { name: accept({ name: "A" }) };
      const result = await client.call("greet", {}, { inputResponses });
      assert.deepEqual(asked(result), ["name_2"]);
    }),
  );

  it(
    "change nothing if nobody asks for them",
    testing(async (client) => {
      const inputResponses = { wrong_key: accept({ name: "Ada" }) };
      assert.deepEqual(asked(await client.call("greet", {}, { inputResponses })), ["name"]);
    }),
  );
});

describe("the capabilities of a retry", () => {
  it("must cover what it would be asked, or it is refused and nothing is lost", async () => {
    await serving({ serve, doors: ["form"] }, async ({ fetch }) => {
      const able = new TestClient(fetch);
      const unable = new TestClient(fetch, { capabilities: { sampling: {} } });
      const { requestState } = await able.call("greet");
      const exchange = await unable.start("tools/call", {
        name: "greet",
        arguments: {},
        requestState,
      });
      assert.equal(exchange.status, 400);
      const [{ error } = {}] = await exchange.rest();
      assert.equal(error.code, -32021);
      assert.deepEqual(error.data, { requiredCapabilities: { elicitation: {} } });
      const inputResponses = { name: accept({ name: "Ada" }) };
      const done = await unable.call("greet", {}, { requestState, inputResponses });
      assert.equal(textOf(done), "Hello, Ada!");
    });
  });

  it("are what the tool sees from then on", async () => {
    const who = createMcpTool("who").description("Looks at its caller").elicits(town)
      .execute(function* (_params, ctx) {
        const before = Object.keys(ctx.client.capabilities);
        yield* ctx.elicit("town", { message: "Where?" });
        return `${before} then ${Object.keys(ctx.client.capabilities)} ${ctx.trace.traceparent}`;
      });
    await serving({ serve: [who] }, async ({ fetch }) => {
      const first = new TestClient(fetch, { capabilities: { elicitation: {}, sampling: {} } });
      const { requestState } = await first.call("who");
      const second = new TestClient(fetch, {
        capabilities: { roots: {} },
        meta: { traceparent: "00-1-2-01" },
      });
      const inputResponses = { town: { action: "decline" } };
      const done = await second.call("who", {}, { requestState, inputResponses });
      assert.equal(textOf(done), "elicitation,sampling then roots 00-1-2-01");
    });
  });
});
