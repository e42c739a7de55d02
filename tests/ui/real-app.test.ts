// deno-lint-ignore-file no-explicit-any
/// <reference lib="dom" />
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { createMcpTool } from "parley-mcp";
import type { BrowserContextOptions } from "playwright-core";
import { z } from "zod";
import { createPlayTtt } from "../../tools/play_ttt.ts";
import { connectHost, type Era, type Host, servingEra, ticketOf } from "../doors/host.ts";
import { absence } from "../harness/system.ts";
import { currentRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { idle } from "../support/turn.ts";
import { type ShownApp, useApp } from "./app.ts";
import { assertAccessible } from "./served-page.ts";

const inBrowser = it.unless(absence("browser"));
const LONG = { within: 90_000 };

const UI = "io.modelcontextprotocol/ui";
const APPS = { extensions: { [UI]: { mimeTypes: ["text/html;profile=mcp-app"] } } };

const book = createMcpTool("book").description("Books a seat.")
  .parameters(z.object({ flight: z.string() }))
  .output(z.object({ said: z.string() }))
  .elicits({
    seat: { response: z.object({ seat: z.enum(["window", "aisle"]) }), by: "person" },
    name: { response: z.object({ name: z.string().min(2) }), by: "person" },
  })
  .execute(function* ({ flight }, ctx) {
    const seat = yield* ctx.elicit("seat", { message: `Which seat on ${flight}?` });
    const name = yield* ctx.elicit("name", { message: "Under which name?" });
    if (seat.action !== "accept" || name.action !== "accept") return { said: "nothing" };
    return { said: `${seat.content.seat} for ${name.content.name} via ${seat.via}` };
  });

const slow = createMcpTool("slow").description("Takes its time.")
  .elicits({ ok: { response: z.object({ ok: z.boolean() }), by: "person" } })
  .execute(function* (_params, ctx) {
    const first = yield* ctx.elicit("ok", { message: "Ready?" });
    yield* ctx.sleep(60_000);
    const second = yield* ctx.elicit("ok", { message: "Still there?" });
    return `${first.action}, then ${second.action}`;
  });

interface Table {
  readonly app: ShownApp;
  /** The client that calls for the model. */
  readonly host: Host;
  readonly clock: { advance(ms: number): void };
  /** Shows the view of a tool, as `tools/list` names it. */
  mount(tool: string, args: object): Promise<void>;
}

interface Sitting {
  /** Whether the calls of the view come from another client session each time. */
  readonly apart?: boolean;
  readonly browser?: BrowserContextOptions;
}

/** A host in a browser, with a real server. */
function* atTable(
  era: Era,
  serve: any,
  { apart = false, browser = {} }: Sitting,
  body: (table: Table) => Promise<void>,
): Operation<void> {
  let callTool = (_params: { name: string; arguments: any }): Promise<object> => {
    throw new Error("there is no server");
  };
  const app = yield* useApp((params) => callTool(params), browser);
  // The view of a named caller may look for its call.
  const principal = apart ? {} : { principal: () => "ann" };
  yield* until(servingEra(era, { serve, ...principal }, async ({ fetch, clock }) => {
    const connect = () => connectHost(era, fetch, { capabilities: APPS });
    const host = await connect();
    callTool = async ({ name, arguments: args }) =>
      await (apart ? await connect() : host).call(name, args);
    await body({
      app,
      host,
      clock,
      async mount(name, args) {
        const { result } = await host.request("tools/list");
        const tool = result.tools.find((one: any) => one.name === name);
        const uri = tool._meta.ui.resourceUri;
        const read = await host.request("resources/read", { uri });
        await app.page.evaluate(
          "document.querySelectorAll('iframe, i').forEach((it) => it.remove()); events.length = 0",
        );
        await app.mount({ html: read.result.contents[0].text, tool: name, messages: true });
        await app.input(args);
      },
    });
  }));
}

/** Answers the two questions of `book`. */
async function answer({ app: { view, page } }: Table): Promise<void> {
  await view.getByText("Which seat on LH1?").waitFor();
  await assertAccessible(page.frames().at(-1)!);
  await view.getByLabel("aisle").check();
  await view.getByRole("button", { name: "Accept" }).click();
  await view.getByLabel("Name").fill("Ada");
  await view.getByLabel("Name").press("Enter");
  await view.getByText("aisle for Ada via app").waitFor();
}

/** Clicks on these cells, one after the other. */
async function play({ app: { view } }: Table, cells: readonly string[]): Promise<string> {
  for (const cell of cells) {
    await view.locator("button.cell").first().waitFor();
    await view.getByRole("button", { name: new RegExp(`^${cell}:`) }).click();
    await view.locator(`div.cell[aria-label^="${cell}:"]`).waitFor();
  }
  return (await view.locator("h1").textContent())!;
}

/** Against the built-in player, with X. */
const GAMES = [
  { ending: "won", title: "You have won.", cells: ["1", "8", "7", "9"] },
  { ending: "lost", title: "You have lost.", cells: ["1", "2", "4"] },
  { ending: "draw", title: "It is a draw.", cells: ["1", "2", "7", "6"] },
];

/** Browsers are slow, so each runtime plays one era. */
const era: Era = currentRuntime() === "deno" ? "legacy" : "modern";

describe(`the view of a real server (${era})`, () => {
  inBrowser(
    "shown early, answers a call that is held open for it",
    () =>
      atTable(era, [book], {}, async (table) => {
        const { app, host } = table;
        const calling = host.call("book", { flight: "LH1" });
        await table.mount("book", { flight: "LH1" });
        await answer(table);
        assert.deepEqual((await calling).structuredContent, { said: "aisle for Ada via app" });
        await app.result(await calling);
        // The model has the result already.
        assert.deepEqual(await app.events("ui/message"), []);
      }),
    LONG,
  );

  inBrowser(
    "shown late, with a stripped result, and a new session for each call",
    () =>
      atTable(era, [book], { apart: true }, async (table) => {
        const { app, host, clock } = table;
        const calling = host.call("book", { flight: "LH1" });
        await idle();
        clock.advance(2_000);
        const deferral = await calling;
        await table.mount("book", { flight: "LH1" });
        await app.result({ content: deferral.content });
        await answer(table);
        await app.heard("ui/message");
        const result = await host.call("continue_call", { ticket: ticketOf(deferral) });
        assert.deepEqual(result.structuredContent, { said: "aisle for Ada via app" });
      }),
    LONG,
  );

  inBrowser(
    "waits for the next question of a tool that takes its time",
    () =>
      atTable(era, [slow], { apart: true }, async (table) => {
        const { app, host, clock } = table;
        const calling = host.call("slow");
        await idle();
        clock.advance(2_000);
        const deferral = await calling;
        await table.mount("slow", {});
        await app.result(deferral);
        const { view } = app;
        await view.getByLabel("Ok").check();
        await view.getByRole("button", { name: "Accept" }).click();
        await view.getByText("Your answer was sent.").waitFor();
        clock.advance(60_000);
        await view.getByText("Still there?").waitFor();
        await view.getByRole("button", { name: "Decline" }).click();
        await view.getByText("accept, then decline").waitFor();
      }),
    LONG,
  );

  inBrowser("draws the forms of a client that hands them over (SEP-3118)", function* () {
    const app = yield* useApp(() => ({ isError: true, content: [] }));
    yield* until(
      servingEra(era, { serve: [createPlayTtt(() => 0)] }, async ({ fetch }) => {
        const cells = [...GAMES[1]!.cells];
        const extensions = { [UI]: { ...APPS.extensions[UI], elicitation: {} } };
        const host: Host = await connectHost(era, fetch, {
          capabilities: { elicitation: { form: {} }, extensions },
          async answer({ method, params }) {
            assert.equal(method, "elicitation/create");
            const { uri, text } = (await host.request("resources/read", {
              uri: params._meta.ui.resourceUri,
            })).result.contents[0];
            assert.equal(uri, "ui://parley/tools/play_ttt.html");
            await app.page.evaluate("document.querySelector('iframe')?.remove()");
            await app.mount({ html: text });
            const answer = app.elicit(params);
            await app.view.getByRole("button", { name: new RegExp(`^${cells.shift()}:`) }).click();
            return await answer as object;
          },
        });
        const { structuredContent } = await host.call("play_ttt");
        assert.equal(structuredContent.ending, "lost");
      }),
    );
  }, LONG);

  inBrowser("plays tic-tac-toe on its board: won, lost and drawn", () =>
    atTable(
      era,
      [createPlayTtt(() => 0)],
      { browser: { viewport: { width: 360, height: 640 } } },
      async (table) => {
        const { page, view } = table.app;
        for (const { ending, title, cells } of GAMES) {
          const calling = table.host.call("play_ttt");
          await table.mount("play_ttt", {});
          await view.locator(".board").waitFor();
          await assertAccessible(page.frames().at(-1)!);
          assert.equal(await play(table, cells), title);
          assert.equal(await view.getByRole("img").count(), 9);
          await assertAccessible(page.frames().at(-1)!);
          assert.equal((await calling).structuredContent.ending, ending);
        }
        const calling = table.host.call("play_ttt");
        await table.mount("play_ttt", {});
        await view.getByRole("button", { name: "Decline" }).click();
        await view.getByText("gave the game up").waitFor();
        assert.equal((await calling).structuredContent.ending, "declined");
      },
    ), LONG);
});
