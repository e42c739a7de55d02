/**
 * The official clients, which declare nothing, with a scripted model behind them. The model knows
 * only what it is told: the descriptions of tools, and results.
 */
import assert from "node:assert/strict";
import * as v2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { createMcpTool, type ParleyOptions } from "parley-mcp";
import { z } from "zod";
import { bookFlight } from "../../tools/book_flight.ts";
import { createPlayTtt } from "../../tools/play_ttt.ts";
import { onSocket } from "../support/socket.ts";
import { describe, it } from "../suite.ts";
import { type Result, ticketOf } from "./host.ts";
import { answerPage, linkIn } from "./page.ts";

interface Caller {
  list(): Promise<{ name: string; description?: string | undefined }[]>;
  call(name: string, args: object): Promise<Result>;
  close(): Promise<void>;
}

const INFO = { name: "official", version: "1" };

async function callerV1(url: string): Promise<Caller> {
  const client = new Client(INFO, { capabilities: {} });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return {
    list: async () => (await client.listTools()).tools,
    call: (name, args) =>
      client.callTool({ name, arguments: args as Result }, CallToolResultSchema),
    close: () => client.close(),
  };
}

async function callerV2(url: string): Promise<Caller> {
  const client = new v2.Client(INFO, {
    capabilities: {},
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  });
  await client.connect(new v2.StreamableHTTPClientTransport(new URL(url)));
  return {
    list: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args as Result }),
    close: () => client.close(),
  };
}

/** The person who is asked: by the model, or on a page. */
interface Person {
  /** Answers what the model asks. */
  tell?(message: string, example: Result): Result;
  /** Visits a page. */
  visit?(link: string): Promise<void>;
}

/** A model that does what descriptions and results say, and knows nothing else. */
async function model(
  caller: Caller,
  person: Person,
  tool: string,
  args: object = {},
): Promise<Result> {
  const tools = await caller.list();
  assert.ok(tools.some(({ name }) => name === tool));
  let result = await caller.call(tool, args);
  for (let turns = 0; turns < 50; turns++) {
    const said: string = result.content.map(({ text = "" }) => text).join("\n");
    // Some hosts show the model only the data.
    if (result.structuredContent) {
      assert.ok(JSON.stringify(result.structuredContent).length > 2);
    }
    const [, next] = /[Cc]all (\w+) with/.exec(said) ?? [];
    if (next === undefined) return result;
    const { description = "" } = tools.find(({ name }) => name === next)!;
    assert.match(description, /ticket/);
    const example = JSON.parse(/\{"ticket":.*\}/.exec(said)![0]);
    const isForPerson = /Ask the person/.test(said);
    if (/this link/.test(said)) await person.visit!(linkIn(said));
    const answer = isForPerson ? { answer: person.tell!(said, example.answer) } : {};
    result = await caller.call(next, { ticket: example.ticket, ...answer });
  }
  throw new Error("the model was sent in circles");
}

const CALLERS = [["v1", callerV1], ["v2", callerV2]] as const;

async function withCaller(
  options: ParleyOptions,
  connect: (url: string) => Promise<Caller>,
  body: (caller: Caller, url: string) => Promise<void>,
): Promise<void> {
  await onSocket(options, async (url) => {
    const caller = await connect(url);
    try {
      await body(caller, url);
    } finally {
      await caller.close();
    }
  });
}

for (const [version, connect] of CALLERS) {
  describe(`the official client ${version}, which declares nothing`, () => {
    it("plays tic-tac-toe to the end through its model", async () => {
      const serve = [createPlayTtt(() => 0)];
      await withCaller({ serve, doors: ["form", "model"] }, connect, async (caller) => {
        let asked = 0;
        const person: Person = {
          tell(message) {
            asked++;
            // The person takes the first cell that is offered.
            const [, cell] = /- cell: one of "(\d)"/.exec(message)!;
            return { cell };
          },
        };
        const { structuredContent, isError } = await model(caller, person, "play_ttt");
        assert.notEqual(isError, true);
        assert.ok(["won", "lost", "draw"].includes(structuredContent.ending));
        assert.ok(asked >= 3);
      });
    });

    it("books a flight: the person confirms on a page", async () => {
      let base = "";
      const options = { serve: [bookFlight], publicUrl: () => base || undefined };
      await withCaller(options, connect, async (caller, url) => {
        base = new URL(url).origin;
        const visited: string[] = [];
        const person: Person = {
          async visit(link) {
            visited.push(link);
            // The flight first; then the same tab asks for the confirmation.
            const next = await answerPage(fetch, link, { flight: "0" });
            assert.match(next.html, /next question/);
            await answerPage(fetch, link, { book: "true", seat: "1" });
          },
        };
        const { structuredContent } = await model(caller, person, "book_flight", {
          from: "BER",
          to: "LIS",
        });
        assert.equal(structuredContent.status, "booked");
        assert.equal(structuredContent.seat, "aisle");
        assert.equal(visited.length, 1);
      });
    });
  });
}

describe("notifications/elicitation/complete", () => {
  const ask = createMcpTool("ask").description("d")
    .elicits({ who: { response: z.object({ name: z.string() }) } })
    .execute(function* (_params, ctx) {
      const answer = yield* ctx.elicit("who", { message: "Who?" });
      return answer.action === "accept"
        ? `${answer.content.name} via ${answer.via}`
        : answer.action;
    });

  /** A client that opens the page of a question, and answers there when it says so. */
  async function urlClient(
    url: string,
    visit: (page: string, elicitationId: string) => unknown,
  ): Promise<{ client: Client; completed: string[]; whenCompleted: Promise<void> }> {
    const client = new Client(INFO, { capabilities: { elicitation: { url: {} } } });
    const completed: string[] = [];
    const { promise: whenCompleted, resolve } = Promise.withResolvers<void>();
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }: Result) => {
      completed.push(params.elicitationId);
      resolve();
    });
    client.setRequestHandler(ElicitRequestSchema, async ({ params }: Result) => {
      assert.equal(params.mode, "url");
      await visit(params.url, params.elicitationId);
      return { action: "accept" };
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return { client, completed, whenCompleted };
  }

  for (const action of ["accept", "decline"]) {
    it(`tells the official client v1 that the page was answered with ${action}`, async () => {
      let base = "";
      const options = { serve: [ask], publicUrl: () => base || undefined };
      await onSocket(options, async (url) => {
        base = new URL(url).origin;
        const asked: string[] = [];
        const { client, completed } = await urlClient(url, async (page, id) => {
          asked.push(id);
          await answerPage(fetch, page, { name: "Ada" }, action);
        });
        try {
          const result = await client.callTool({ name: "ask" }, CallToolResultSchema) as Result;
          assert.equal(result.content[0].text, action === "accept" ? "Ada via page" : "decline");
          assert.equal(asked.length, 1);
          assert.deepEqual(completed, asked);
        } finally {
          await client.close();
        }
      });
    });
  }

  it("reaches the official client v1 after the call was deferred", async () => {
    let base = "";
    const options = { serve: [ask], publicUrl: () => base || undefined, askWait: 0 };
    await onSocket(options, async (url) => {
      base = new URL(url).origin;
      const visited = Promise.withResolvers<{ page: string; id: string }>();
      const { client, completed, whenCompleted } = await urlClient(url, (page, id) => {
        visited.resolve({ page, id });
      });
      try {
        const first = await client.callTool({ name: "ask" }, CallToolResultSchema) as Result;
        const { page, id } = await visited.promise;
        await answerPage(fetch, page, { name: "Ada" });
        await whenCompleted;
        assert.deepEqual(completed, [id]);
        const last = await client.callTool({
          name: "continue_call",
          arguments: { ticket: ticketOf(first) },
        }, CallToolResultSchema) as Result;
        assert.equal(last.content[0].text, "Ada via page");
        assert.deepEqual(completed, [id]);
      } finally {
        await client.close();
      }
    });
  });
});
