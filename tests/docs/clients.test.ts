/** docs/clients.md says what happens in clients that cannot do something. Servers do that. */
import assert from "node:assert/strict";
import { CapabilityError, createMcpTool } from "parley-mcp";
import { z } from "zod";
import { readText } from "../harness/files.ts";
import { Gate } from "../support/gate.ts";
import { living } from "../support/life.ts";
import { accept, said, TestClient, textOf } from "../support/modern/client.ts";
import { serving } from "../support/modern/server.ts";
import { until } from "../support/turn.ts";
import { describe, it } from "../suite.ts";

const page = readText("docs/clients.md").replaceAll(/\s+/g, " ");

/** Fails if the page no longer says this: then the test below it has to change too. */
function promised(...sentences: string[]): void {
  for (const sentence of sentences) assert.ok(page.includes(sentence), sentence);
}

const go = { go: { response: z.object({ go: z.boolean() }) } };

describe("docs/clients.md: when something is missing", () => {
  it("forms and pages: another door, or an error that names the client", async () => {
    promised(
      "the question goes to the model or to a page; if `doors` allows neither, `ctx.elicit` throws `CapabilityError`, and if the tool does not catch it, the model gets an error that names the client",
      "`ctx.elicitUrl` throws `CapabilityError`",
    );
    const thrown: unknown[] = [];
    const forms = createMcpTool("forms").description("Asks").elicits(go)
      .execute(function* (_params, ctx) {
        try {
          yield* ctx.elicit("go", { message: "Shall I paint it green?" });
        } catch (error) {
          thrown.push(error);
          throw error;
        }
      });
    const pages = createMcpTool("pages").description("Sends to a page")
      .execute(function* (_params, ctx) {
        try {
          yield* ctx.elicitUrl({ message: "Look", url: "https://green.example/" });
        } catch (error) {
          thrown.push(error);
          throw error;
        }
      });
    await serving({ serve: [forms, pages] }, async ({ fetch }) => {
      const client = new TestClient(fetch, { capabilities: {} });
      const result = await client.call("forms");
      assert.notEqual(result.isError, true);
      assert.match(textOf(result), /Shall I paint it green\?/);
    });
    assert.equal(thrown.length, 0);
    await serving({ serve: [forms, pages], doors: ["form"] }, async ({ fetch }) => {
      const client = new TestClient(fetch, { capabilities: {} });
      for (const name of ["forms", "pages"]) {
        const result = await client.call(name);
        assert.equal(result.isError, true);
        assert.match(textOf(result), /test client/);
      }
    });
    assert.deepEqual(thrown.map((error) => error instanceof CapabilityError), [true, true]);
  });

  it("tools in samples: they are described in the prompt, and read from the answer", async () => {
    promised("describe the schema or tools in the prompt, and read JSON from the answer");
    const cell = z.object({ cell: z.number() });
    const plays = createMcpTool("plays").description("Lets the model play")
      .execute(function* (_params, ctx) {
        const { parsed } = yield* ctx.sampleSchema({ prompt: "Where?", schema: cell });
        const { toolCalls } = yield* ctx.sampleTools({
          prompt: "Play!",
          tools: [{ name: "place", description: "Places a stone", inputSchema: cell }],
        });
        return { parsed, played: toolCalls.map(({ name, arguments: args }) => ({ name, args })) };
      });
    await serving({ serve: [plays] }, async ({ fetch }) => {
      const client = new TestClient(fetch, { capabilities: { sampling: {} } });
      let result = await client.call("plays");
      const prompts: string[] = [];
      for (const answer of ['{"cell":4}', '{"tool":"place","arguments":{"cell":5}}']) {
        const [[key, { params }]] = Object.entries<{ params: { tools?: unknown } }>(
          result.inputRequests,
        ) as [[string, { params: { tools?: unknown } }]];
        assert.equal(params.tools, undefined);
        prompts.push(JSON.stringify(params));
        const { requestState } = result;
        result = await client.call("plays", {}, {
          requestState,
          inputResponses: { [key]: said(answer) },
        });
      }
      assert.match(prompts[0]!, /JSON Schema.*cell/);
      assert.match(prompts[1]!, /Places a stone.*cell/);
      assert.deepEqual(JSON.parse(textOf(result)), {
        parsed: { cell: 4 },
        played: [{ name: "place", args: { cell: 5 } }],
      });
    });
  });
});

describe("docs/clients.md: when a modern client disconnects", () => {
  /** Works, asks, works: what it did is in `done`. */
  function working(gate: Gate, done: string[], durable: boolean) {
    const begun = createMcpTool("works").description("Works, asks, and works");
    return (durable ? begun.durable() : begun).parameters(z.object({ ask: z.boolean() }))
      .elicits(go).execute(function* ({ ask }, ctx) {
        if (ask) yield* ctx.elicit("go", { message: "Go?" });
        try {
          yield* ctx.step("work", () => gate.pass());
          done.push("worked");
          return "worked";
        } finally {
          done.push("stopped");
        }
      });
  }

  interface Kit {
    readonly client: TestClient;
    readonly gate: Gate;
    readonly done: string[];
    /** Sends a call, and disconnects once the tool works. */
    leave(call: { readonly [key: string]: unknown }): Promise<void>;
  }

  function testing(durable: boolean, body: (kit: Kit) => Promise<void>): Promise<void> {
    const gate = new Gate();
    const done: string[] = [];
    return living({ serve: [working(gate, done, durable)] }, async (life) => {
      await life.start();
      const client = new TestClient((request) => life.parley.fetch(request));
      await body({
        client,
        gate,
        done,
        async leave(call) {
          const leaving = new AbortController();
          const { signal } = leaving;
          const response = client.start("tools/call", call, { signal }).catch(() => {});
          await until(() => gate.waiting === 1);
          leaving.abort();
          await until(() => life.parley.counts.live === 0);
          await response;
        },
      });
    });
  }

  const name = "works";
  const answered = (requestState: unknown) => ({
    name,
    arguments: { ask: true },
    requestState,
    inputResponses: { go: accept({ go: true }) },
  });

  it("cancels a call that works", async () => {
    promised("When a modern client disconnects while a call is working, the call is cancelled.");
    await testing(false, async ({ client, gate, done, leave }) => {
      const { requestState } = await client.call(name, { ask: true });
      await leave(answered(requestState));
      gate.open();
      const error = await client.error("tools/call", answered(requestState));
      assert.match(error.message, /the client closed the connection; call again/);
      assert.deepEqual(done, ["stopped"]);
    });
  });

  it("suspends a durable call that has asked, and the same request continues it", async () => {
    promised(
      "A durable call that has asked a question before is suspended instead, and continues when the client sends its last request again.",
    );
    await testing(true, async ({ client, gate, done, leave }) => {
      const { requestState } = await client.call(name, { ask: true });
      await leave(answered(requestState));
      gate.open();
      assert.equal(textOf(await client.result("tools/call", answered(requestState))), "worked");
      assert.deepEqual(done, ["stopped", "worked", "stopped"]);
    });
  });

  it("leaves a call that waits for an answer as it is", async () => {
    promised("A call that waits for an answer needs no connection and is not affected.");
    await testing(false, async ({ client, gate, done }) => {
      const { requestState } = await client.call(name, { ask: true });
      gate.open();
      assert.equal(textOf(await client.result("tools/call", answered(requestState))), "worked");
      assert.deepEqual(done, ["worked", "stopped"]);
    });
  });
});
