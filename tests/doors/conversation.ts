/** The person, the client and the model of one cell of the table. */
import assert from "node:assert/strict";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";
import type { Fetch } from "../support/exchange.ts";
import type { Host, HostOptions, Result } from "./host.ts";
import { linkIn, postForm, show } from "./page.ts";
import { ChannelEnded } from "./stdio.ts";
import { type By, type Cell, type Kind, outcomeOf, QUESTIONS, type Scenario } from "./table.ts";

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

/** The name of the tool whose questions are for `by`. */
export const toolName = (by: By): string => `ask_${by.replace("-", "_")}`;

/** Returns how each answer came. */
export function toolFor(scenario: Scenario, by: By) {
  const n = { response: z.object({ n: z.string() }), by };
  return createMcpTool(toolName(by)).description("Asks.").elicits({ n }).durable()
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

/** Where a conversation takes place. */
export interface World {
  connect(cell: Cell, options: HostOptions): Promise<Host & { close?(): Promise<void> }>;
  /** Sends the requests of the person's browser. */
  readonly browse: Fetch;
  /**
   * Waits for a result, and lets time pass. `wait` is how long the request may take, in
   * milliseconds. Undefined if there is no result, which only a silent client can cause.
   */
  settled(result: Promise<Result>, wait: number, isSilent: boolean): Promise<Result | undefined>;
  /** Called once, while the first question is open. Returns true if the server was restarted. */
  interrupted(): Promise<boolean>;
}

export class Conversation {
  readonly #cell: Cell;
  readonly #world: World;
  #host!: Host & { close?(): Promise<void> };
  #interruption: Promise<boolean> | undefined;
  /** How often the client has called the tool. */
  calls = 0;
  /** How many people are at a page. */
  visiting = 0;

  constructor(cell: Cell, world: World) {
    this.#cell = cell;
    this.#world = world;
  }

  /** Calls the tool, does what results say, and returns how the answers came. */
  async run(): Promise<string> {
    const { kind, era, by } = this.#cell;
    this.#host = await this.#world.connect(this.#cell, {
      capabilities: CAPABILITIES[kind],
      // The first is known to refuse what nobody has seen. Servers remember such habits by name
      // and version, and the clients of several cells may share a server.
      name: kind === "declines at once" ? "claude-code" : `client: ${kind}`,
      version: `${era} ${by}`,
      answer: (request) => this.#answer(request),
    });
    let result = await this.#begin();
    for (let turns = 0; result?.structuredContent?.status === "waiting"; turns++) {
      assert.ok(turns < 50, "it goes round in circles");
      result = await this.#goOn(result);
    }
    await this.#host.close?.();
    if (result === undefined) return "silence";
    return result.isError ? "none" : result.content[0].text;
  }

  async #begin(): Promise<Result> {
    for (;;) {
      try {
        this.calls++;
        return await this.#call(toolName(this.#cell.by), {});
      } catch (error) {
        // The model sees an error, and calls again.
        if (!(error instanceof ChannelEnded)) throw error;
      }
    }
  }

  /** Does what a deferral says. */
  async #goOn(deferral: Result): Promise<Result> {
    const isRestarted = await this.#interrupt();
    const { ticket, questions } = deferral.structuredContent;
    const [{ door, key }] = questions;
    if (door === "model") {
      return await this.#call("continue_call", { ticket, key, answer: { n: "1" } });
    }
    if (door === "page") {
      // The port of the page may not be open yet, or has changed.
      const hasMoved = isRestarted && this.#cell.transport === "stdio";
      if (hasMoved || !/\/pages\//.test(deferral.content[0].text)) {
        return await this.#call("continue_call", { ticket }, 20_000);
      }
      for (const _question of questions) await this.#visit(linkIn(deferral.content[0].text));
    } else if (door === "app") await this.#answerApp(deferral, questions.length);
    return await this.#call("continue_call", { ticket }, 20_000);
  }

  /** What the client answers to a request of the server. */
  async #answer({ params }: { params: Result }): Promise<object> {
    const isRestarted = await this.#interrupt();
    switch (this.#cell.kind) {
      case "declines at once":
        return { action: "decline" };
      case "accepts {}":
        return { action: "accept", content: {} };
      case "never answers":
        return await new Promise<never>(() => {});
      case "URL only":
        // The person agrees to open the page, but over stdio its port has closed.
        if (!isRestarted || this.#cell.transport === "HTTP") await this.#visit(params.url);
        return { action: "accept" };
      default:
        return { action: "accept", content: { n: "1" } };
    }
  }

  /** Returns true only to the first caller, and only if the server was restarted. */
  async #interrupt(): Promise<boolean> {
    if (this.#interruption) {
      await this.#interruption;
      return false;
    }
    return await (this.#interruption = this.#world.interrupted());
  }

  async #visit(link: string): Promise<void> {
    this.visiting++;
    try {
      const { browse } = this.#world;
      for (;;) {
        const { html, status } = await show(browse, link);
        assert.equal(status, 200, html);
        // The question of another tab: this one shows the next question.
        if (!html.includes("<form")) return;
        const response = await postForm(browse, link, html, { n: "1" });
        await response.body?.cancel();
        if (response.status === 303) return;
        assert.equal(response.status, 409);
      }
    } finally {
      this.visiting--;
    }
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

  async #call(name: string, args: object, wait = 2_000): Promise<Result | undefined> {
    const isSilent = outcomeOf(this.#cell) === "silence";
    return await this.#world.settled(this.#host.call(name, args), wait, isSilent);
  }
}
