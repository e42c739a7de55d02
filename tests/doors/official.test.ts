/**
 * The official clients, which declare nothing, with a scripted model behind them. The model knows
 * only what it is told: the descriptions of tools, and results.
 */
import assert from "node:assert/strict";
import * as v2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import type { ParleyOptions } from "parley-mcp";
import { bookFlight } from "../../tools/book_flight.ts";
import { createPlayTtt } from "../../tools/play_ttt.ts";
import { onSocket } from "../support/socket.ts";
import { describe, it } from "../suite.ts";
import type { Result } from "./host.ts";
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
