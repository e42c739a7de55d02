/** Every kind of client, in both eras, over HTTP and stdio: what becomes of a question. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createManualClock,
  createMcpTool,
  createParley,
  type ManualClock,
  type Parley,
  type ParleyOptions,
  Sealer,
} from "parley-mcp";
import { z } from "zod";
import { openSqlite, type SqliteStores } from "../../src/store/sqlite/stores.ts";
import { ORIGIN } from "../support/exchange.ts";
import { idle } from "../support/turn.ts";
import { describe, it } from "../suite.ts";
import { connectHost, type Era, ERAS, type Host, type HostOptions, type Result } from "./host.ts";
import { answerPage, linkIn } from "./page.ts";
import { connectStdio } from "./stdio.ts";
import { BY, type By, type Kind, KINDS, TABLE } from "./table.ts";

const UI = "io.modelcontextprotocol/ui";
const HTML = "text/html;profile=mcp-app";

const CAPABILITIES: { readonly [kind in Kind]: object } = {
  "form": { elicitation: { form: {} } },
  "form with app rendering": {
    elicitation: { form: {} },
    extensions: { [UI]: { mimeTypes: [HTML], elicitation: {} } },
  },
  "app only": { extensions: { [UI]: { mimeTypes: [HTML] } } },
  "URL only": { elicitation: { url: {} } },
  "nothing": {},
  "declines at once": { elicitation: { form: {} } },
  "accepts {}": { elicitation: { form: {} } },
  "never answers": { elicitation: { form: {} } },
};

const SCENARIOS = ["one question", "three in a row", "two at once", "across a restart"] as const;
type Scenario = typeof SCENARIOS[number];
type Transport = "HTTP" | "stdio";

const QUESTIONS: { readonly [scenario in Scenario]: number } = {
  "one question": 1,
  "three in a row": 3,
  "two at once": 2,
  "across a restart": 2,
};

/** Returns how each answer came. */
function toolFor(scenario: Scenario, by: By) {
  const n = { response: z.object({ n: z.string() }), by };
  return createMcpTool("ask").description("Asks.").elicits({ n }).durable()
    .execute(function* (_params, ctx) {
      const ask = function* (branch: typeof ctx) {
        const answer = yield* branch.elicit("n", { message: "Which n?" });
        return answer.action === "accept" ? answer.via : answer.action;
      };
      if (scenario === "two at once") return (yield* ctx.branches([ask, ask])).join();
      const came: string[] = [];
      for (let i = 0; i < QUESTIONS[scenario]; i++) came.push(yield* ask(ctx));
      return came.join();
    });
}

/** One server after another, with the same store. */
class Servers {
  readonly #folder = mkdtempSync(join(tmpdir(), "parley-doors-"));
  readonly #options: ParleyOptions;
  readonly #isStored: boolean;
  readonly clock: ManualClock = createManualClock();
  #stores: SqliteStores | undefined;
  parley!: Parley;

  constructor(options: ParleyOptions, isStored: boolean) {
    this.#options = options;
    this.#isStored = isStored;
  }

  async start(): Promise<void> {
    await this.stop();
    if (this.#isStored) this.#stores = openSqlite(join(this.#folder, "store.db"));
    this.parley = createParley({
      ...(this.#stores && { store: this.#stores.sessions, clients: this.#stores.clients }),
      sealer: new Sealer("a key that outlasts the server"),
      clock: this.clock,
      ...this.#options,
    });
  }

  async stop(): Promise<void> {
    await this.parley?.close();
    this.#stores?.close();
    this.#stores = undefined;
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

interface Cell {
  readonly era: Era;
  readonly transport: Transport;
  readonly kind: Kind;
  readonly scenario: Scenario;
  readonly by: By;
  readonly pages: boolean;
}

/** The person, the host and the model of one cell. */
class Conversation {
  readonly #cell: Cell;
  readonly #servers: Servers;
  #host!: Host & { close?(): Promise<void> };
  #restarted = false;
  readonly #visits: Promise<unknown>[] = [];
  #visiting = 0;

  constructor(cell: Cell, servers: Servers) {
    this.#cell = cell;
    this.#servers = servers;
  }

  async connect(): Promise<void> {
    const { era, transport, kind } = this.#cell;
    const options: HostOptions = {
      capabilities: CAPABILITIES[kind],
      // A client that is known to refuse what nobody has seen.
      name: kind === "declines at once" ? "claude-code" : "test client",
      answer: (request) => this.#answer(request),
    };
    this.#host = transport === "stdio"
      ? await connectStdio(era, this.#servers.parley, options)
      : await connectHost(era, (request) => this.#servers.parley.fetch(request), options);
  }

  /** What the client answers to a request of the server. */
  async #answer({ params }: { params: Result }): Promise<object> {
    switch (this.#cell.kind) {
      case "declines at once":
        return { action: "decline" };
      case "accepts {}":
        return { action: "accept", content: {} };
      case "never answers":
        return await new Promise<never>(() => {});
      case "URL only":
        await this.#visit(params.url);
        return { action: "accept" };
      default:
        if (this.#cell.era === "modern") await this.#restart();
        return { action: "accept", content: { n: "1" } };
    }
  }

  readonly #browse = (request: Request) =>
    this.#cell.transport === "stdio" ? fetch(request) : this.#servers.parley.fetch(request);

  async #visit(link: string): Promise<void> {
    const visit = answerPage(this.#browse, link, { n: "1" });
    this.#visits.push(visit);
    this.#visiting++;
    try {
      await visit;
    } finally {
      this.#visiting--;
    }
  }

  async #restart(): Promise<boolean> {
    if (this.#cell.scenario !== "across a restart" || this.#restarted) return false;
    this.#restarted = true;
    await this.#host.close?.();
    await this.#servers.start();
    return true;
  }

  /** Calls the tool, does what results say, and returns how the answers came. */
  async run(): Promise<string> {
    await this.connect();
    let result = await this.#call("ask", {});
    for (let turns = 0; result?.structuredContent?.status === "waiting"; turns++) {
      assert.ok(turns < 50, "it goes round in circles");
      const { ticket, questions } = result.structuredContent;
      if (await this.#restart()) {
        await this.connect();
        result = await this.#call("continue_call", { ticket }, 20_000);
        continue;
      }
      const [{ door, key }] = questions;
      if (door === "model") {
        result = await this.#call("continue_call", { ticket, key, answer: { n: "1" } });
        continue;
      }
      if (door === "page") {
        // Its port may not be open yet.
        if (!/\/pages\//.test(result.content[0].text)) {
          result = await this.#call("continue_call", { ticket });
          continue;
        }
        for (const _question of questions) {
          await this.#visit(linkIn(result.content[0].text));
        }
      } else if (door === "app") await this.#answerApp(result, questions.length);
      result = await this.#call("continue_call", { ticket }, 20_000);
    }
    // A person looks at the page after the last answer, too.
    await Promise.all(this.#visits);
    await this.#host.close?.();
    if (result === undefined) return "silence";
    return result.isError ? "none" : result.content[0].text;
  }

  async #answerApp(result: Result, questions: number): Promise<void> {
    let state = result._meta["parley/ask"];
    for (let i = 0; i < questions; i++) {
      const { secret, question } = state;
      const answer = { question: question.id, action: "accept", content: { n: "1" } };
      const reply = await this.#host.call("answer_call", { secret, answer });
      state = reply._meta["parley/ask"];
    }
  }

  /** Calls a tool, and lets time pass until it returns. Undefined if it never does. */
  async #call(name: string, args: object, wait = 2_000): Promise<Result> {
    let result: Result;
    let failed: unknown;
    void this.#host.call(name, args).then((value) => result = value, (error) => failed = error);
    // Without an answer, a few turns show that nothing happens; any other call returns.
    const isSilent = this.#cell.kind === "never answers";
    for (let i = 0; result === undefined && failed === undefined && (!isSilent || i < 8); i++) {
      await idle();
      // Time passes only while nobody is at a page: browsers use real time.
      if (this.#visiting === 0 && i % 5 === 4) {
        this.#servers.clock.advance(i % 20 === 19 ? wait : 20);
      }
    }
    if (failed) throw failed;
    return result;
  }
}

async function outcomeOf(cell: Cell): Promise<string> {
  const { transport, pages } = cell;
  const servers = new Servers({
    serve: [toolFor(cell.scenario, cell.by)],
    report: () => {},
    ...(transport === "HTTP" && { publicUrl: ORIGIN }),
    ...(!pages && { doors: ["form", "app", "model"] as const }),
  }, cell.scenario === "across a restart");
  try {
    await servers.start();
    return await new Conversation(cell, servers).run();
  } finally {
    await servers.end();
  }
}

function expected({ kind, by, pages, scenario }: Cell): string {
  const cell = TABLE[kind][by][pages ? 0 : 1];
  const [first, later = first] = cell.split("/");
  if (first === "none" || first === "silence") return first;
  // Two questions at once are both asked before the first is answered.
  const next = scenario === "two at once" ? first : later;
  return [first, ...Array(QUESTIONS[scenario] - 1).fill(next)].join();
}

/** A request that waits in a client cannot survive the end of its channel, or of its stream. */
function isRestartable({ kind, era, transport, scenario }: Cell): boolean {
  if (scenario !== "across a restart") return true;
  const isDeferred = kind === "app only" || kind === "nothing";
  return isDeferred || transport === "HTTP" && era === "modern" && kind === "form";
}

for (const era of ERAS) {
  for (const transport of ["HTTP", "stdio"] as const) {
    describe(`a question in the ${era} era over ${transport}`, () => {
      for (const kind of KINDS) {
        it(`to a client of the kind "${kind}"`, async () => {
          for (const scenario of SCENARIOS) {
            for (const by of BY) {
              for (const pages of [true, false]) {
                const cell = { era, transport, kind, scenario, by, pages };
                if (!isRestartable(cell)) continue;
                // Nothing is asked, so the number of questions does not matter.
                if (by === "signed-in" && scenario !== "one question") continue;
                assert.equal(await outcomeOf(cell), expected(cell), JSON.stringify(cell));
              }
            }
          }
        });
      }
    });
  }
}
