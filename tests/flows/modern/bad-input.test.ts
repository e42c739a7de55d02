import assert from "node:assert/strict";
import fc from "fast-check";
import { createMcpPrompt, createMcpResource, createMcpTool, type ParleyOptions } from "parley-mcp";
import { z } from "zod";
import { type Message, ORIGIN } from "../../support/exchange.ts";
import {
  ABLE_WITH_TASKS,
  accept,
  answerOf,
  TestClient,
  VERSION,
} from "../../support/modern/client.ts";
import { serving, type TestServer } from "../../support/modern/server.ts";
import { echo, greet, greetAll } from "../../support/tools.ts";
import { describe, it } from "../../suite.ts";

const form = { a: { response: z.object({ n: z.number() }) } };
const job = createMcpTool("job").description("A task").task().elicits(form)
  .execute(function* (_params, ctx) {
    return (yield* ctx.elicit("a", { message: "a?" })).action;
  });
const routed = createMcpTool("routed").description("Is routed")
  .parameters(z.object({ region: z.string().meta({ "x-mcp-header": "Region" }).optional() }))
  .execute(function* () {
    return "routed";
  });
const prompt = createMcpPrompt("p").description("A prompt").arguments(z.object({ x: z.string() }))
  .completes({
    *x(value) {
      return [value];
    },
  })
  .execute(function* ({ x }) {
    return x;
  });
const page = createMcpResource("r").uri("r://{page}").read(function* ({ page }) {
  return page;
});
const serve: ParleyOptions["serve"] = [echo, greet, greetAll, job, routed, prompt, page];

/** The response may be anything but a crash, and must follow the specification. */
async function survives(
  { fetch, faults, watch }: TestServer,
  text: string,
  headers: Record<string, string>,
): Promise<void> {
  const client = new TestClient(fetch);
  const leaving = new AbortController();
  const response = await client.post(text, headers, leaving.signal);
  const said = `${text} with ${JSON.stringify(headers)}`;
  assert.ok(response.status < 500, `${response.status} for ${said}`);
  if (response.headers.get("content-type") === "text/event-stream") {
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
  } else if (response.status === 202) {
    assert.equal(await response.text(), "");
  } else {
    const answer: Message = await response.json();
    assert.deepEqual(answer.id, expectedId(text), said);
    assert.ok(!/\.ts:\d|node_modules|at async/.test(JSON.stringify(answer)), "a stack trace");
  }
  assert.deepEqual(faults, [], said);
  assert.deepEqual(watch.complaints, [], said);
}

function expectedId(text: string): unknown {
  const { id, method } = JSON.parse(text) ?? {};
  const isId = typeof id === "string" || Number.isSafeInteger(id);
  return isId && method !== undefined ? id : undefined;
}

function textOf(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

/** Replaces, removes or adds something at a random place. */
const mutation = fc.record({
  path: fc.array(fc.nat(6), { maxLength: 5 }),
  value: fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom(undefined, "__proto__", -1, 1e308, "tools/call", "constructor", {}),
  ),
  key: fc.option(fc.constantFrom("__proto__", "toString", "error", "id", "name", "_meta", "x")),
});

function mutate(value: unknown, path: readonly number[], key: string | null, by: unknown): unknown {
  if (typeof value !== "object" || value === null) return by;
  const entries = Object.entries(value);
  const [step, ...rest] = path;
  if (step === undefined || entries.length === 0) {
    return key === null ? by : rebuilt(value, [...entries, [key, by]]);
  }
  const at = step % entries.length;
  return rebuilt(
    value,
    entries.map(([name, entry], i) => [name, i === at ? mutate(entry, rest, key, by) : entry]),
  );
}

function rebuilt(like: object, entries: readonly (readonly [string, unknown])[]): unknown {
  if (Array.isArray(like)) return entries.map(([, entry]) => entry);
  const object = {};
  for (const [name, value] of entries) {
    if (value === undefined) continue;
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true });
  }
  return object;
}

/** Headers that match the body, as far as a header can. */
function fittingHeaders(body: unknown): Record<string, string> {
  // deno-lint-ignore no-explicit-any
  const { method, params } = (body ?? {}) as any;
  const name = params?.name ?? params?.uri ?? params?.taskId;
  const version = params?._meta?.["io.modelcontextprotocol/protocolVersion"];
  const plain = (value: unknown) => typeof value === "string" && /^[!-~]*$/.test(value);
  return {
    "mcp-protocol-version": plain(version) ? version : VERSION,
    ...(plain(method) && { "mcp-method": method }),
    ...(plain(name) && { "mcp-name": name }),
  };
}

describe("a body with modern headers", () => {
  it("gets a well-formed refusal if it is any JSON", async () => {
    await serving({ serve: serve! }, async (server) => {
      await fc.assert(
        fc.asyncProperty(fc.jsonValue(), fc.boolean(), async (value, fit) => {
          const headers = fit ? fittingHeaders(value) : { "mcp-protocol-version": VERSION };
          await survives(server, textOf(value), headers);
        }),
        { numRuns: 300 },
      );
    });
  });

  it("gets a well-formed response if it is almost valid", async () => {
    await serving({ serve: serve!, limits: { maxSessions: 5_000 } }, async (server) => {
      const client = new TestClient(server.fetch, { capabilities: ABLE_WITH_TASKS });
      const { requestState } = await client.call("greet_all", { count: 2 });
      const { taskId } = await client.call("job");
      const inputResponses = { name: accept({ name: "Ada" }) };
      const requests: [string, object][] = [
        ["server/discover", {}],
        ["tools/list", { cursor: "x" }],
        ["prompts/list", {}],
        ["resources/list", {}],
        ["resources/templates/list", {}],
        ["tools/call", { name: "echo", arguments: { text: "x" } }],
        ["tools/call", { name: "routed", arguments: { region: "x" } }],
        ["tools/call", { name: "greet", inputResponses }],
        ["tools/call", {
          name: "greet_all",
          arguments: { count: 2 },
          requestState,
          inputResponses,
        }],
        ["prompts/get", { name: "p", arguments: { x: "1" } }],
        ["resources/read", { uri: "r://1" }],
        ["completion/complete", {
          ref: { type: "ref/prompt", name: "p" },
          argument: { name: "x", value: "1" },
          context: { arguments: { x: "2" } },
        }],
        ["subscriptions/listen", { notifications: { toolsListChanged: true, taskIds: [taskId] } }],
        ["tasks/get", { taskId }],
        ["tasks/update", { taskId, inputResponses: { a: accept({ n: 1 }) } }],
        ["tasks/cancel", { taskId }],
      ];
      const request = fc.constantFrom(...requests);
      const mutations = fc.array(mutation, { minLength: 1, maxLength: 3 });
      await fc.assert(
        fc.asyncProperty(request, mutations, fc.boolean(), async (request, changes, fit) => {
          const [method, params] = request;
          const _meta = client.meta();
          const right = { jsonrpc: "2.0", id: 7, method, params: { _meta, ...params } };
          let body: unknown = right;
          for (const { path, key, value } of changes) body = mutate(body, path, key, value);
          const headers = { "mcp-param-region": "x", ...fittingHeaders(fit ? body : right) };
          await survives(server, textOf(body), headers);
        }),
        { numRuns: 1_000 },
      );
    });
  });
});

describe("a body", () => {
  const headers = { "mcp-protocol-version": VERSION };

  it("that nests too deeply is refused, wherever it does", async () => {
    await serving({ serve: serve! }, async (server) => {
      const client = new TestClient(server.fetch);
      const { requestState } = await client.call("greet", { more: 1 });
      for (const depth of [300, 10_000, 200_000]) {
        const deep = `${'{"a":['.repeat(depth)}1${"]}".repeat(depth)}`;
        const meta = JSON.stringify(client.meta());
        const bodies = [
          deep,
          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":${meta},"name":"greet","arguments":{"more":${deep}}}}`,
          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":${meta},"name":"greet","arguments":{"more":${deep}},"requestState":"${requestState}"}}`,
          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":${meta},"name":"greet","arguments":{"more":1},"requestState":"${requestState}","inputResponses":{"name":${deep}}}}`,
        ];
        for (const body of bodies) {
          const response = await client.post(body, {
            ...headers,
            "mcp-method": "tools/call",
            "mcp-name": "greet",
          });
          assert.equal(response.status, 400);
          assert.ok((await response.json()).error);
        }
      }
      const inputResponses = { name: accept({ name: "Ada" }) };
      await client.call("greet", { more: 1 }, { requestState, inputResponses });
    });
  });

  it("that nests up to the limit is served, asked and continued", async () => {
    await serving({ serve: serve! }, async ({ fetch }) => {
      const client = new TestClient(fetch);
      let more: unknown = 1;
      for (let depth = 0; depth < 180; depth++) more = [more];
      const { requestState } = await client.call("greet", { more });
      const inputResponses = { name: accept({ name: "Ada", more }) };
      const done = await client.call("greet", { more }, { requestState, inputResponses });
      assert.equal(done.content[0].text, "Hello, Ada!");
    });
  });

  it("that is too large is refused before it is read", async () => {
    const limits = { maxBody: 10_000 };
    await serving({ serve: serve!, limits }, async ({ fetch }) => {
      const client = new TestClient(fetch);
      const params = { name: "echo", arguments: { text: "x".repeat(10_000) } };
      const exchange = await client.start("tools/call", params);
      assert.equal(exchange.status, 413);
      await exchange.rest();
      const fits = { name: "echo", arguments: { text: "x".repeat(9_000) } };
      assert.equal((await client.result("tools/call", fits)).content[0].text.length, 9_000);
    });
  });

  it("that is cut off, or is not JSON, is refused", async () => {
    await serving({ serve: serve! }, async ({ fetch }) => {
      const client = new TestClient(fetch);
      const whole = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
      for (const text of ["", "{", whole.slice(0, -1), `${whole}}`, "NaN", "'x'"]) {
        const response = await client.post(text, headers);
        assert.equal(response.status, 400, text);
        const { id, error } = await response.json();
        assert.deepEqual([id, error.code], [undefined, -32700], text);
      }
      const broken = new ReadableStream({
        pull(controller) {
          controller.error(new Error("gone"));
        },
      });
      const response = await fetch(
        new Request(`${ORIGIN}/mcp`, {
          method: "POST",
          headers: {
            ...headers,
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
          },
          body: broken,
          // Deno's and Bun's types lack this field, but the platform requires it.
          ...{ duplex: "half" },
        }),
      ).catch(() => undefined);
      if (response) assert.equal(response.status, 400);
    });
  });
});

describe("an id", () => {
  it("of a valid type is returned unchanged; any other makes the request invalid", async () => {
    await serving({ serve: serve! }, async ({ fetch }) => {
      const client = new TestClient(fetch);
      for (const id of [0, -1, "", "0", "é", Number.MAX_SAFE_INTEGER, "a".repeat(1_000)]) {
        const exchange = await client.start("tools/list", {}, { id });
        assert.deepEqual((await answerOf(exchange)).id, id);
      }
      const headers = { "mcp-protocol-version": VERSION, "mcp-method": "tools/list" };
      for (const id of [null, 1.5, true, {}, []]) {
        const params = { _meta: client.meta() };
        const response = await client.post(
          { jsonrpc: "2.0", id, method: "tools/list", params },
          headers,
        );
        assert.equal(response.status, 400);
        const answer = await response.json();
        assert.deepEqual([answer.id, answer.error.code], [undefined, -32600]);
      }
    });
  });
});
