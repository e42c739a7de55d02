/**
 * Every kind of client, in both eras, over HTTP and stdio: what becomes of a question. The scenario
 * in which the server is killed is in `killed.test.ts`.
 */
import assert from "node:assert/strict";
import { createManualClock, createParley, Sealer } from "parley-mcp";
import { ORIGIN } from "../support/exchange.ts";
import { idle } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { Conversation, toolFor, type World } from "./conversation.ts";
import { connectHost, ERAS, type Result } from "./host.ts";
import { SignedInPerson } from "./signed-in-person.ts";
import { connectStdio } from "./stdio.ts";
import { BY, type Cell, expected, KINDS, SCENARIOS, SERVERS, TRANSPORTS } from "./table.ts";

const person = await SignedInPerson.create();
/** Shared by all servers, because it takes long to derive a key. */
const sealer = new Sealer("a key of the servers");

/** Runs the conversation of a cell with a server in this process, whose time is moved by hand. */
async function outcomeOf(cell: Cell): Promise<string> {
  const { by, scenario, server, transport } = cell;
  const clock = createManualClock();
  const signsIn = by === "signed-in" && transport === "HTTP";
  const parley = createParley({
    serve: [toolFor(scenario, by)],
    report: () => {},
    sealer,
    clock,
    ...(transport === "HTTP" && { publicUrl: ORIGIN }),
    ...(signsIn && { auth: person.auth }),
    ...(server === "no pages" && { doors: ["form", "app", "model"] as const }),
  });
  const cookie = person.cookie(sealer, clock.now());
  const world: World = {
    connect: async ({ era }, options) =>
      transport === "stdio"
        ? await connectStdio(era, parley, options)
        : await connectHost(era, (request) => parley.fetch(request), {
          ...options,
          ...(signsIn && { headers: await person.headers(clock) }),
        }),
    browse(request) {
      if (signsIn) request.headers.set("cookie", cookie);
      return transport === "stdio" ? fetch(request) : parley.fetch(request);
    },
    async settled(calling, wait, isSilent) {
      let result: Result;
      let failed: unknown;
      void calling.then((value) => result = value, (error) => failed = error);
      // Without an answer, a few turns show that nothing happens; any other call returns.
      for (let i = 0; result === undefined && failed === undefined && (!isSilent || i < 8); i++) {
        await idle();
        // Time passes only while nobody is at a page: browsers use real time.
        if (conversation.visiting === 0) clock.advance(i % 4 === 3 ? wait : 20);
      }
      if (failed) throw failed;
      return result;
    },
    interrupted: () => Promise.resolve(false),
  };
  const conversation = new Conversation(cell, world);
  try {
    return await conversation.run();
  } finally {
    await parley.close();
  }
}

describe("the table", () => {
  it("leaves a question unanswered only if the client is silent, or no other door is left", () => {
    for (const kind of KINDS) {
      for (const by of BY) {
        for (const server of SERVERS) {
          for (const transport of TRANSPORTS) {
            const cell: Cell = { era: "legacy", transport, kind, scenario: "killed", by, server };
            const [first, later = first] = expected(cell).split(",");
            const why = JSON.stringify(cell);
            for (const how of [first, later]) {
              if (how === "silence") assert.equal(kind, "never answers", why);
              if (how === "none") assert.notEqual(by, "anyone", why);
              if (how === "decline") {
                assert.deepEqual([kind, server], ["declines at once", "no pages"], why);
              }
            }
          }
        }
      }
    }
  });
});

for (const era of ERAS) {
  for (const transport of TRANSPORTS) {
    describe(`a question in the ${era} era over ${transport}`, () => {
      for (const kind of KINDS) {
        it(`to a client of the kind "${kind}"`, async () => {
          for (const scenario of SCENARIOS) {
            if (scenario === "killed") continue;
            for (const by of BY) {
              for (const server of SERVERS) {
                const cell: Cell = { era, transport, kind, scenario, by, server };
                assert.equal(await outcomeOf(cell), expected(cell), JSON.stringify(cell));
              }
            }
          }
        });
      }
    });
  }
}
