import assert from "node:assert/strict";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { type Operation, run, suspend } from "effection";
import type { RequestListener } from "node:http";
import { createMcpPrompt, createMcpTool } from "parley-mcp";
import { z } from "zod";
import { connect } from "../../src/client/connect.ts";
import { Refusal, type TraceLine } from "../../src/client/http.ts";
import { LegacyServer } from "../../src/client/legacy.ts";
import { ModernServer } from "../../src/client/modern.ts";
import type { RemoteServer } from "../../src/client/server.ts";
import { EventReader } from "../../src/client/sse.ts";
import type { Person, Progress, Question } from "../../src/client/person.ts";
import { ClientError } from "../../src/client/client-error.ts";
import type { ClientAnswer } from "../../src/model/events.ts";
import { describe, it } from "../suite.ts";
import { cuttingProxy } from "../support/cutting-proxy.ts";
import { useHttp } from "../support/http-server.ts";
import { onSocket } from "../support/socket.ts";
import { answerForm, planTrip, POEM } from "../support/multi-round-tool.ts";
import { until as turnsUntil } from "../support/turn.ts";

const ME = { name: "test", version: "1" };

class Scripted implements Person {
  readonly questions: Question[] = [];
  readonly steps: Progress[] = [];
  readonly logs: unknown[] = [];

  *answer(question: Question): Operation<ClientAnswer> {
    this.questions.push(question);
    switch (question.type) {
      case "form":
        return answerForm(question.params.message);
      case "sample":
        return POEM;
      case "roots":
        return { roots: [{ uri: "file:///here" }] };
      default:
        return { action: "cancel" };
    }
  }

  progress(step: Progress): void {
    this.steps.push(step);
  }

  log(_level: string, data: unknown): void {
    this.logs.push(data);
  }

  done(): void {}
}

function* trip(server: RemoteServer): Operation<Scripted> {
  const person = new Scripted();
  const tool = (yield* server.tools()).find(({ name }) => name === "plan_trip")!;
  const { structuredContent } = yield* server.call(tool, { to: "Graz" }, person);
  assert.deepEqual(structuredContent, {
    plan: "Graz on 2026-08-01, window",
    extras: false,
    poem: "O Graz, thy clock is tall.",
  });
  yield* server.close();
  return person;
}

function endpoint(url: string) {
  return { url, headers: {} };
}

describe("the command line's client", () => {
  it("uses the newest revision if it can", async () => {
    await onSocket({ serve: [planTrip] }, async (url) => {
      const person = await run(function* () {
        const server = yield* connect(endpoint(url), ME);
        assert.equal(server.version, "2026-07-28");
        return yield* trip(server);
      });
      assert.deepEqual(person.questions.map(({ type }) => type), [
        "form",
        "form",
        "form",
        "sample",
      ]);
      assert.deepEqual(person.steps.map(({ progress, total }) => [progress, total]), [
        [1, 4],
        [2, 4],
        [3, 4],
        [4, 4],
      ]);
      assert.equal(person.logs.length, 2);
    });
  });

  it("uses the older ones just as well", async () => {
    await onSocket({ serve: [planTrip] }, async (url, parley) => {
      const person = await run(function* () {
        const server = new LegacyServer(endpoint(url));
        yield* server.initialize(ME);
        assert.equal(server.version, "2025-11-25");
        return yield* trip(server);
      });
      assert.equal(person.questions.length, 4);
      assert.equal(person.steps.length, 4);
      assert.equal(parley.counts.clientSessions, 0, "it said goodbye");
    });
  });

  it("resumes a broken stream where it stopped", async () => {
    await onSocket({ serve: [planTrip], limits: { reconnectDelay: 1 } }, async (url) => {
      const seen = new Set<string>();
      const proxy = await cuttingProxy(url, ({ boundary, event }) => {
        if (boundary !== "event" || !event || seen.has(event)) return false;
        seen.add(event);
        return true;
      });
      try {
        await run(function* () {
          const server = new LegacyServer(endpoint(proxy.url));
          yield* server.initialize(ME);
          const person = yield* trip(server);
          assert.equal(person.questions.length, 4);
        });
        assert.ok(seen.size > 3, `${seen.size} cuts`);
      } finally {
        await proxy.close();
      }
    });
  });

  it("falls back to the revision of an older server", function* () {
    const url = yield* useHttp(async (request, response) => {
      const server = new McpServer({ name: "old", version: "1" });
      server.registerTool("plan_trip", {
        inputSchema: { to: z.string() },
        outputSchema: { plan: z.string(), extras: z.boolean(), poem: z.string() },
      }, () => ({
        content: [],
        structuredContent: {
          plan: "Graz on 2026-08-01, window",
          extras: false,
          poem: "O Graz, thy clock is tall.",
        },
      }));
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
      await server.connect(transport as never);
      await transport.handleRequest(request, response);
    });
    const server = yield* connect(endpoint(url), ME);
    assert.ok(server instanceof LegacyServer);
    yield* trip(server);
  });

  it("repeats marked arguments in headers, whatever their spelling", async () => {
    const tool = createMcpTool("route").description("Routed.")
      .parameters({
        type: "object",
        properties: {
          region: { type: "string", "x-mcp-header": "Region" },
          shard: { type: "integer", "x-mcp-header": "Shard" },
          unset: { type: "string", "x-mcp-header": "Unset" },
        },
      })
      .execute(function* (params) {
        return JSON.stringify(params);
      });
    await onSocket({ serve: [tool] }, async (url) => {
      await run(function* () {
        const server = new ModernServer(endpoint(url), ME);
        const [remote] = yield* server.tools();
        for (const region of ["eu-west", " Köln ", "=?base64?x?=", ""]) {
          const args = { region, shard: 7 };
          const { content } = yield* server.call(remote!, args, new Scripted());
          assert.deepEqual(JSON.parse((content[0] as { text: string }).text), args);
        }
      });
    });
  });

  for (const era of ["modern", "legacy"] as const) {
    it(`tells a server that it has left, ${era} era`, async () => {
      const stuck = createMcpTool("stuck").description("Waits.").execute(() => suspend());
      await onSocket({ serve: [stuck] }, async (url, parley) => {
        const task = run(function* () {
          const server = era === "modern"
            ? new ModernServer(endpoint(url), ME)
            : new LegacyServer(endpoint(url));
          if (server instanceof LegacyServer) yield* server.initialize(ME);
          const [tool] = yield* server.tools();
          yield* server.call(tool!, {}, new Scripted());
        });
        await eventually(() => parley.counts.live === 1);
        await task.halt();
        await eventually(() => parley.counts.live === 0);
      });
    });
  }

  for (const era of ["modern", "legacy"] as const) {
    it(`asks as any client, with its own capabilities, and shows each message, ${era} era`, async () => {
      const prompt = createMcpPrompt("greet").description("d").elicits({
        who: { response: z.object({ name: z.string() }) },
      })
        .execute(function* (_, ctx) {
          const answer = yield* ctx.elicit("who", { message: "Who?" });
          return answer.action === "accept" ? `Greet ${answer.content.name}.` : "Greet nobody.";
        });
      await onSocket({ serve: [prompt] }, async (url) => {
        await run(function* () {
          const lines: TraceLine[] = [];
          const traced = { ...endpoint(url), trace: (line: TraceLine) => void lines.push(line) };
          const capabilities = { elicitation: { form: {} } };
          const server = era === "modern"
            ? new ModernServer(traced, ME, capabilities)
            : new LegacyServer(traced, capabilities);
          if (server instanceof LegacyServer) yield* server.initialize(ME);
          const person = new Scripted();
          person.answer = function* () {
            return { action: "accept", content: { name: "Ada" } };
          };
          const { messages } = yield* server.request("prompts/get", { name: "greet" }, person);
          assert.match(JSON.stringify(messages), /Greet Ada\./);
          const sent = lines.filter(({ from }) => from === "client").map(({ text }) => text);
          assert.ok(sent.some((text) => text.includes('{"elicitation":{"form":{}}}')));
          const received = lines.filter(({ from }) => from === "server").map(({ text }) => text);
          assert.ok(received.some((text) => text.includes("Who?")));
          assert.deepEqual(lines.map(({ text }) => JSON.parse(text).jsonrpc).filter(Boolean), [
            ...lines.map(() => "2.0"),
          ]);
          yield* server.close();
        });
      });
    });
  }

  it("says who refused it, and what may help", function* () {
    const cases: [RequestListener, RegExp][] = [
      [(_, response) => response.writeHead(401).end(), /HTTP 401.*--header/],
      [
        (_, response) => response.writeHead(200).end("<html>hello</html>"),
        /check that it is an MCP server/,
      ],
      [(_, response) => response.writeHead(404).end(), /check that it is an MCP server/],
      [(request) => request.socket.destroy(), /Cannot reach/],
    ];
    for (const [listener, pattern] of cases) {
      const url = yield* useHttp(listener);
      try {
        yield* connect(endpoint(url), ME);
        assert.fail("it connected");
      } catch (error) {
        assert.ok(error instanceof ClientError, String(error));
        assert.match(error.message, pattern);
      }
    }
  });

  it("returns a tool's own error unchanged", async () => {
    await onSocket({ serve: [planTrip] }, async (url) => {
      await run(function* () {
        const server = yield* connect(endpoint(url), ME);
        try {
          yield* server.call({ name: "none", inputSchema: {} }, {}, new Scripted());
          assert.fail("it was called");
        } catch (error) {
          assert.ok(error instanceof Refusal);
          assert.match(error.message, /there is no such tool/);
        }
      });
    });
  });
});

/** Data from a socket arrives with a delay. */
async function eventually(isSo: () => boolean): Promise<void> {
  for (;;) {
    try {
      return await turnsUntil(isSo);
    } catch {
      // The suite's own time limit ends it.
    }
  }
}

describe("EventReader", () => {
  const stream = "id: 1\r\ndata: a\r\n\r\n: hello\r\n\r\nretry: 20\rdata: b\rdata:c\r\r" +
    "id: 3\ndata\n\ndata: ä✓\n\ndata: lost";
  const expected = [
    { id: "1", data: "a", retry: undefined },
    { id: undefined, data: "b\nc", retry: 20 },
    { id: "3", data: "", retry: undefined },
    { id: undefined, data: "ä✓", retry: undefined },
  ];

  it("reads the same events wherever the stream is cut", () => {
    const bytes = new TextEncoder().encode(stream);
    for (let size = 1; size <= bytes.length; size++) {
      const reader = new EventReader();
      const events = [];
      for (let at = 0; at < bytes.length; at += size) {
        events.push(...reader.read(bytes.subarray(at, at + size)));
      }
      assert.deepEqual(events, expected, `in pieces of ${size}`);
    }
  });
});
