/** The included tools in official clients that declare nothing, with a model that reads results. */
import assert from "node:assert/strict";
import process from "node:process";
import { fileURLToPath } from "node:url";
import * as v2 from "@modelcontextprotocol/client";
import { StdioClientTransport as V2Stdio } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { JsonObject } from "parley-mcp";
import { bookFlight } from "../../../tools/book_flight.ts";
import { createPlayTtt } from "../../../tools/play_ttt.ts";
import { type Cell, CELLS } from "../../../tools/play_ttt/board.ts";
import { sendForm, show } from "../../doors/page.ts";
import { describe, it } from "../../suite.ts";
import { fromSource } from "../../support/program.ts";
import { onSocket } from "../../support/socket.ts";
import { DRAW_X, prefer } from "../../tools/ttt-players.ts";
import {
  type Hands,
  type ListedTool,
  type Listener,
  pursue,
  type ReadResult,
  type Reads,
} from "./reading-model.ts";

const INFO = { name: "bare", version: "1.0.0" };

interface Bare extends Hands {
  close(): Promise<void>;
}

/** Where a client finds its server: at a URL, or as a program. */
type Server = string | readonly [string, ...string[]];

async function bareV1(server: Server): Promise<Bare> {
  const client = new Client(INFO, { capabilities: {} });
  const http = typeof server === "string"
    ? new StreamableHTTPClientTransport(new URL(server))
    : undefined;
  await client.connect(http ?? new StdioClientTransport(program(server as readonly [string])));
  return {
    tools: async () => (await client.listTools()).tools,
    call: async (name, args) => await client.callTool({ name, arguments: args }) as ReadResult,
    close: async () => {
      await http?.terminateSession();
      await client.close();
    },
  };
}

async function bareV2(server: Server): Promise<Bare> {
  const client = new v2.Client(INFO, {
    capabilities: {},
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  });
  await client.connect(
    typeof server === "string"
      ? new v2.StreamableHTTPClientTransport(new URL(server))
      : new V2Stdio(program(server)),
  );
  return {
    tools: async () => (await client.listTools()).tools as readonly ListedTool[],
    call: async (name, args) => await client.callTool({ name, arguments: args }) as ReadResult,
    close: () => client.close(),
  };
}

function program([command, ...args]: readonly [string, ...string[]]) {
  return { command, args, stderr: "ignore" as const };
}

const CLIENTS = [["v1", bareV1], ["v2", bareV2]] as const;

async function using(
  connect: (server: Server) => Promise<Bare>,
  server: Server,
  body: (hands: Hands) => Promise<void>,
): Promise<void> {
  const client = await connect(server);
  try {
    await body(client);
  } finally {
    await client.close();
  }
}

/** A person who plays by taste, and reads the empty cells from the model's question. */
function player(boards: string[]): Listener {
  return {
    answer(question, fields) {
      boards.push(question);
      const about = fields.get("cell")!;
      return { cell: prefer(DRAW_X, CELLS.filter((cell) => about.includes(`"${cell}"`))) };
    },
  };
}

interface GameOver {
  readonly ending: string;
  readonly moves: { readonly mark: string; readonly cell: Cell }[];
}

/** Plays a game in which the person begins and the model asks for every move. */
async function playsToTheEnd(hands: Hands, reads: Reads): Promise<void> {
  const boards: string[] = [];
  const { result, steps } = await pursue(hands, /tic-tac-toe/, {}, player(boards), reads);
  assert.notEqual(result.isError, true, JSON.stringify(result.content));
  const { ending, moves } = result.structuredContent as unknown as GameOver;
  assert.ok(["lost", "draw"].includes(ending), ending);
  const mine = moves.slice(0, 8).filter(({ mark }) => mark === "X").length;
  const turns = Array(mine).fill(["asked", "continue_call"]).flat();
  assert.deepEqual(steps, ["play_ttt", ...turns]);
  assert.equal(boards.length, mine);
  for (const board of boards) assert.match(board, /You are X\. Where do you play\?/);
}

/** A person with a browser that runs no scripts. They mark the options that they want. */
function traveller(shown: string[]): Listener {
  return {
    async open(link) {
      let { html } = await show(fetch, link);
      for (;;) {
        const [, message] = /<p class="message">([^<]*)/.exec(html) ?? [];
        if (message === undefined) return;
        shown.push(message);
        ({ html } = await sendForm(fetch, link, html, marked(html, /PY 233|aisle|^Book$/)));
      }
    },
  };
}

/** The values of the options whose labels match, by field. */
function marked(html: string, wanted: RegExp): JsonObject {
  const options = html.matchAll(/name="(f\d+)" value="([^"]*)"[^>]*>\s*<span>([^<]*)/g);
  const fields: JsonObject = {};
  for (const [, name, value, label] of options) {
    if (wanted.test(label!)) fields[name!] = value!;
  }
  return fields;
}

/** Books a flight whose questions are on a page, which stays open for the second one. */
async function booksOnItsPage(hands: Hands, reads: Reads): Promise<void> {
  const shown: string[] = [];
  const args = { from: "BER", to: "OSL", passengers: 3 };
  const { result, steps } = await pursue(hands, /flights/, args, traveller(shown), reads);
  assert.notEqual(result.isError, true, JSON.stringify(result.content));
  const { summary, ...booked } = result.structuredContent!;
  assert.deepEqual(booked, {
    sample: true,
    status: "booked",
    flight: "PY 233",
    departs: "17:40",
    arrives: "19:25",
    seat: "aisle",
    passengers: 3,
    total: 297,
    reference: "SAMPLE-PY233",
  });
  assert.match(String(summary), /aisle seat/);
  assert.match(shown[0]!, /^Which flight would you like\?/);
  assert.match(shown[1]!, /^Book PY 233/);
  assert.equal(shown.length, 2);
  assert.equal(steps[0], "book_flight");
  assert.ok(!steps.includes("asked"), "the model answers nothing");
}

for (const [name, connect] of CLIENTS) {
  describe(`the official ${name} client without capabilities`, () => {
    it("books nothing if no browser reaches the server: a model cannot confirm", () =>
      onSocket({ serve: [bookFlight] }, (url) =>
        using(connect, url, async (hands) => {
          const call = hands.call("book_flight", { from: "BER", to: "OSL" });
          const told = await call.then(JSON.stringify, String);
          assert.match(told, /use a client that does, or start the server with --public-url/);
        })));
  });

  for (const reads of ["text", "data"] as const) {
    describe(`the official ${name} client without capabilities, whose model reads ${reads}`, () => {
      it("plays tic-tac-toe: the model asks for each move", () =>
        onSocket(
          { serve: [bookFlight, createPlayTtt(() => 0)] },
          (url) => using(connect, url, (hands) => playsToTheEnd(hands, reads)),
        ));

      it("books a flight: the person chooses and confirms on a page", async () => {
        let origin: string | undefined;
        const options = {
          serve: [bookFlight, createPlayTtt(() => 0)],
          publicUrl: () => origin,
        };
        await onSocket(options, async (url) => {
          origin = new URL(url).origin;
          await using(connect, url, (hands) => booksOnItsPage(hands, reads));
        });
      });
    });
  }

  describe(`the official ${name} client without capabilities, over stdio`, () => {
    it("plays tic-tac-toe: the model asks for each move", () => {
      const server = fileURLToPath(new URL("./stdio-server.ts", import.meta.url));
      const isDeno = process.versions.bun === undefined;
      const flags = isDeno ? ["run", "-A", "--no-check"] : [];
      return using(
        connect,
        [process.execPath, ...flags, server, "0", "model"],
        (hands) => playsToTheEnd(hands, "text"),
      );
    });

    it("books a flight: the person chooses and confirms on a page", () =>
      using(connect, [...fromSource(), "stdio"], (hands) => booksOnItsPage(hands, "text")));
  });
}
