/** A whole game of tic-tac-toe, with the same tool, through every client that can play it. */
import assert from "node:assert/strict";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  createMcpTool,
  createSamplingProvider,
  type JsonObject,
  type ParleyOptions,
  type ToolResult,
} from "parley-mcp";
import { z } from "zod";
import { createPlayTtt } from "../../../tools/play_ttt.ts";
import { type Cell, CELLS, type Mark } from "../../../tools/play_ttt/board.ts";
import { type Received, type Reply, startFakeModel } from "../../sampling/fake-model.ts";
import { anthropicAnswer, ollamaAnswer, openaiAnswer, openaiCall } from "../../sampling/samples.ts";
import { scriptedProvider } from "../../ask/sampling-kit.ts";
import { describe, it } from "../../suite.ts";
import { type Life, living } from "../../support/life.ts";
import { TestClient } from "../../support/modern/client.ts";
import { onSocket } from "../../support/socket.ts";
import {
  DRAW_O,
  DRAW_X,
  FAST,
  type Match,
  modelAnswer,
  move,
  personMove,
  SLOW,
  type Taste,
} from "../../tools/ttt-players.ts";
import { type Played, playV1, playV2, type Table } from "./players.ts";

/** The person begins and wins; the model begins and wins; nobody wins. */
const GAMES: readonly (Match & { readonly ending: string; readonly toss: number })[] = [
  { person: FAST, model: SLOW, toss: 0, ending: "won" },
  { person: SLOW, model: FAST, toss: 0.9, ending: "lost" },
  { person: DRAW_X, model: DRAW_O, toss: 0, ending: "draw" },
  { person: DRAW_O, model: DRAW_X, toss: 0.9, ending: "draw" },
];

const CALL = { name: "play_ttt", arguments: {} };

function table({ person, model }: Match, sampling: "tools" | "words" | "none"): Table {
  return {
    person: ({ requestedSchema }) => personMove(person, requestedSchema) as JsonObject,
    ...(sampling !== "none" && {
      model: {
        knowsTools: sampling === "tools",
        answer: (params) => modelAnswer(model, params),
      },
    }),
  };
}

interface GameOver {
  readonly ending: string;
  readonly person: Mark;
  readonly moves: { readonly mark: Mark; readonly cell: Cell }[];
}

/** How many questions of each kind a game of this many moves takes. */
function checkGame({ result, asked }: Played, { ending, toss }: (typeof GAMES)[number]): void {
  assert.notEqual(result.isError, true, JSON.stringify(result.content));
  const game = result.structuredContent as unknown as GameOver;
  assert.equal(game.ending, ending);
  assert.equal(game.person, toss < 0.5 ? "X" : "O");
  assert.equal(new Set(game.moves.map(({ cell }) => cell)).size, game.moves.length);
  // The last of nine moves is not a choice.
  const chosen = game.moves.slice(0, 8);
  const persons = chosen.filter(({ mark }) => mark === game.person).length;
  assert.equal(asked.filter((what) => what === "form").length, persons);
}

const samplesOf = ({ asked }: Played) => asked.filter((what) => what !== "form");
const modelMoves = ({ result }: Played) => {
  const { moves, person } = result.structuredContent as unknown as GameOver;
  return moves.slice(0, 8).filter(({ mark }) => mark !== person).length;
};

describe("play_ttt with official clients", () => {
  it("works with the v1 client with sampling", async () => {
    for (const game of GAMES) {
      await onSocket({ serve: [createPlayTtt(() => game.toss)] }, async (url) => {
        const played = await playV1(url, table(game, "words"), CALL);
        checkGame(played, game);
        assert.equal(played.version, "2025-11-25");
        assert.deepEqual(samplesOf(played), Array(modelMoves(played) * 2).fill("sample"));
        assert.ok(played.progress.length > 0);
      });
    }
  });

  it("works with the v1 client with tools in sampling", async () => {
    for (const game of GAMES) {
      await onSocket({ serve: [createPlayTtt(() => game.toss)] }, async (url) => {
        const played = await playV1(url, table(game, "tools"), CALL);
        checkGame(played, game);
        assert.deepEqual(
          samplesOf(played),
          Array(modelMoves(played) * 2).fill("sample with tools"),
        );
      });
    }
  });

  it("works with the modern v2 client, in many rounds", async () => {
    for (const game of GAMES) {
      for (const sampling of ["tools", "words"] as const) {
        await onSocket({ serve: [createPlayTtt(() => game.toss)] }, async (url) => {
          const played = await playV2(url, table(game, sampling), CALL, 20);
          checkGame(played, game);
          assert.equal(played.version, "2026-07-28");
          // Every question is a round: at most four moves with a sample each, and four forms.
          assert.ok(played.asked.length <= 8);
        });
      }
    }
  });

  it("fits into the ten rounds of a client that plays the model as well", async () => {
    for (const game of GAMES) {
      await onSocket({ serve: [createPlayTtt(() => game.toss)] }, async (url) => {
        const played = await playV2(url, table(game, "tools"), CALL);
        checkGame(played, game);
        assert.equal(samplesOf(played).length, modelMoves(played));
      });
    }
  });

  it("asks the modern v2 client only for moves if the server has a model", async () => {
    for (const game of GAMES) {
      await withModel(game, OPENAI, async ({ provider, model }) => {
        const options = { serve: [createPlayTtt(() => game.toss)], sampling: { provider } };
        await onSocket(options, async (url) => {
          // The client supports sampling, and allows ten rounds by default.
          const played = await playV2(url, table(game, "tools"), CALL);
          checkGame(played, game);
          assert.deepEqual(samplesOf(played), []);
          assert.equal(model.received.length, modelMoves(played) * 2);
        });
      });
    }
  });

  it("works with clients without sampling if the server has a model, of any kind", async () => {
    for (const dialect of [OPENAI, ANTHROPIC, OLLAMA]) {
      for (const game of GAMES) {
        await withModel(game, dialect, async ({ provider, model }) => {
          const options = { serve: [createPlayTtt(() => game.toss)], sampling: { provider } };
          await onSocket(options, async (url) => {
            const legacy = await playV1(url, table(game, "none"), CALL);
            checkGame(legacy, game);
            assert.equal(model.received.length, modelMoves(legacy) * 2);
            const modern = await playV2(url, table(game, "none"), CALL);
            checkGame(modern, game);
            assert.deepEqual(modern.result.structuredContent, legacy.result.structuredContent);
          });
        });
      }
    }
  });

  it("uses the built-in player if there is no model, in both eras", async () => {
    for (const game of GAMES) {
      await onSocket({ serve: [createPlayTtt(() => game.toss)] }, async (url) => {
        for (const play of [playV1, playV2]) {
          const played = await play(url, table(game, "none"), CALL);
          assert.notEqual(played.result.isError, true);
          const over = played.result.structuredContent as unknown as GameOver & JsonObject;
          assert.equal(over.opponent, "built-in player");
          assert.ok(["lost", "draw"].includes(over.ending));
          assert.deepEqual(samplesOf(played), []);
        }
      });
    }
  });

  it("ends when the person stops playing, in both eras", async () => {
    for (const [action, ending] of [["decline", "declined"], ["cancel", "cancelled"]] as const) {
      await onSocket({ serve: [createPlayTtt(() => 0)] }, async (url) => {
        for (const play of [playV1, playV2]) {
          const { result } = await play(url, { person: () => action }, CALL);
          assert.equal((result.structuredContent as unknown as GameOver).ending, ending);
        }
      });
    }
  });
});

describe("play_ttt over stdio", () => {
  it("works in its own process", async () => {
    for (const game of GAMES) {
      for (const sampling of ["tools", "words"] as const) {
        const isDeno = process.versions.bun === undefined;
        const server = fileURLToPath(new URL("./stdio-server.ts", import.meta.url));
        const transport = new StdioClientTransport({
          command: process.execPath,
          args: [...(isDeno ? ["run", "-A", "--no-check"] : []), server, String(game.toss)],
          stderr: "inherit",
        });
        const played = await playV1(transport, table(game, sampling), CALL);
        checkGame(played, game);
        assert.equal(samplesOf(played).length, modelMoves(played) * 2);
      }
    }
  });
});

/** A parked game, continued by one server after another. */
describe("a game of tic-tac-toe that outlives its server", () => {
  type Round = { readonly requestState: string; readonly inputRequests?: JsonObject } & ToolResult;

  /** The game as an earlier version began it, which recorded less. */
  const earlier = createMcpTool("play_ttt").description("d")
    .elicits({ pickMove: { response: z.object({ cell: z.enum(CELLS) }) } })
    .durable()
    .handoff({
      *before() {
        return { person: "X", model: "O" };
      },
      *client(_marks, ctx) {
        yield* ctx.notify("Your turn", 0, 9);
        yield* ctx.elicit("pickMove", { message: "Where do you play?" });
      },
      *after() {
        return "";
      },
    });

  const provider = scriptedProvider({
    role: "assistant",
    content: { type: "text", text: "I do not know this game." },
    model: "p",
  });

  /** Plays until the game is over, each move with another server. */
  async function playOn(life: Life, ...starts: ParleyOptions[]) {
    const client = new TestClient((request) => life.parley.fetch(request), {
      capabilities: { elicitation: {} },
    });
    let retry = {};
    for (let moves = 0; moves < 9; moves++) {
      await life.start(starts.shift() ?? {});
      const round = await client.result("tools/call", { ...CALL, ...retry }) as unknown as Round;
      const [name] = Object.keys(round.inputRequests ?? {});
      if (name === undefined) return round;
      const { params } = round.inputRequests![name] as { params: { requestedSchema: JsonObject } };
      const answer = personMove([], params.requestedSchema);
      const inputResponses = { [name]: { action: "accept", content: answer } };
      retry = { requestState: round.requestState, inputResponses };
    }
    throw new Error("the game does not end");
  }

  it("keeps its opponent, even if the next server has a model", () =>
    living({ serve: [createPlayTtt(() => 0.9)] }, async (life) => {
      const result = await playOn(life, {}, {}, { sampling: { provider } });
      assert.notEqual(result.isError, true, JSON.stringify(result.content));
      assert.equal(result.structuredContent!["opponent"], "built-in player");
      assert.equal(provider.asked.length, 0);
    }));

  it("is finished if an earlier version began it", () =>
    living({ serve: [createPlayTtt(() => 0)] }, async (life) => {
      const result = await playOn(life, { serve: [earlier] });
      assert.notEqual(result.isError, true, JSON.stringify(result.content));
      assert.equal(result.structuredContent!["opponent"], "built-in player");
    }));
});

// Models behind a socket, each in the wire format of its provider.

interface Dialect {
  readonly name: string;
  answer(taste: Taste, received: Received): Reply;
}

const REASON = { reasoning: "Three in a row." };

const OPENAI: Dialect = {
  name: "openai:gpt-4o",
  answer(taste, { body }) {
    const schema = body.response_format?.json_schema.schema;
    if (schema) return { json: openaiAnswer({ content: JSON.stringify(move(taste, schema)) }) };
    const calls = [
      openaiCall("play_offensive", JSON.stringify(REASON), `call_${body.messages.length}`),
    ];
    return { json: openaiAnswer({ tool_calls: calls }, "tool_calls") };
  },
};

const ANTHROPIC: Dialect = {
  name: "anthropic:claude-sonnet-4-5",
  answer(taste, { body }) {
    const [{ name, input_schema: schema }] = body.tools;
    const input = name === "__schema__" ? move(taste, schema) : REASON;
    const use = { type: "tool_use", id: `toolu_${body.messages.length}`, name, input };
    return { json: anthropicAnswer([use], "tool_use") };
  },
};

const OLLAMA: Dialect = {
  name: "ollama:llama3.3",
  answer(taste, { body }) {
    if (body.format) {
      return { json: ollamaAnswer({ content: JSON.stringify(move(taste, body.format)) }) };
    }
    const call = { function: { name: "play_offensive", arguments: REASON } };
    return { json: ollamaAnswer({ tool_calls: [call] }) };
  },
};

async function withModel(
  { model: taste }: Match,
  { name, answer }: Dialect,
  body: (setting: {
    provider: ReturnType<typeof createSamplingProvider>;
    model: Awaited<ReturnType<typeof startFakeModel>>;
  }) => Promise<void>,
): Promise<void> {
  const model = await startFakeModel((received) => answer(taste, received));
  try {
    const baseUrl = name.startsWith("ollama:") ? model.url : `${model.url}/v1`;
    await body({
      provider: createSamplingProvider({ model: name, apiKey: "k", baseUrl, retries: 0 }),
      model,
    });
  } finally {
    await model.close();
  }
}
