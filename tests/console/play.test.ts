/// <reference lib="dom" />
import assert from "node:assert/strict";
import { until } from "effection";
import { createMcpPrompt, createMcpResource, createMcpTool } from "parley-mcp";
import type { Locator, Page } from "playwright-core";
import { z } from "zod";
import { bookFlight } from "../../tools/book_flight.ts";
import { createPlayTtt } from "../../tools/play_ttt.ts";
import { absence } from "../harness/system.ts";
import { currentRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { assertAccessible } from "../ui/served-page.ts";
import { assertFits, useConsole } from "./console-page.ts";

const inBrowser = it.unless(absence("browser"));
/** Browsers are slow, so each runtime has one era, and some tests run on one runtime only. */
const era = currentRuntime() === "deno" ? "2026-07-28" : "2025-11-25";
const onDeno = currentRuntime() === "deno" ? inBrowser : it.skip;
const LONG = { within: 120_000 };

const tick = (page: Page, name: string) => page.getByRole("checkbox", { name, exact: true });
const press = (page: Page | Locator, name: string) =>
  page.getByRole("button", { name, exact: true }).click();
const result = (page: Page) => page.getByRole("group", { name: "Result" });

const XSS = `<img src=x onerror="alert('pwned')"><script>alert(1)</script>`;

const everything = createMcpTool("everything").description("Takes everything.")
  .parameters(z.object({
    name: z.string().min(2),
    bags: z.number().int().max(9),
    weight: z.number().optional(),
    quiet: z.boolean(),
    seat: z.enum(["window", "aisle"]),
    row: z.literal([1, 2, 3]),
    day: z.iso.date(),
    list: z.array(z.string()),
    nested: z.object({ a: z.number() }),
  }))
  .execute(function* (params) {
    return JSON.stringify(params);
  });

const ask = createMcpTool("ask").title(`Ask ${XSS}`).description(XSS)
  .elicits({ who: { response: z.object({ who: z.string().meta({ title: XSS }) }) } })
  .execute(function* (_, ctx) {
    const answer = yield* ctx.elicit("who", { message: `Who? ${XSS}` });
    return answer.action === "accept" ? `It is ${answer.content.who}.` : `Nobody: ${answer.action}`;
  });

const poem = createMcpTool("poem").description("Asks the model.").execute(function* (_, ctx) {
  const text = yield* ctx.sample({ prompt: `A poem, please. ${XSS}`, maxTokens: 100 });
  const { parsed } = yield* ctx.sampleSchema({
    prompt: "How long is it?",
    schema: z.object({ lines: z.number().int() }),
  });
  return `${text.text} (${parsed.lines} lines)`;
});

const greet = createMcpPrompt("greet").description("Greets.").arguments(
  z.object({ who: z.string() }),
)
  .execute(function* ({ who }) {
    return `Hello ${who}`;
  });
const note = createMcpResource("note").uri("note://{id}").read(function* ({ id }) {
  return `Note ${id}`;
});

describe(`Play in a browser (${era})`, () => {
  inBrowser("opens by link, keeps nothing of it in the address, and fits a phone", function* () {
    const dark = { viewport: { width: 360, height: 740 }, colorScheme: "dark" } as const;
    const { page, origin } = yield* useConsole({ serve: [everything, ask] }, dark);
    yield* until((async () => {
      await page.getByRole("button", { name: "Run" }).waitFor();
      assert.equal(page.url(), `${origin}/console`);
      await assertAccessible(page);
      await assertFits(page);
      // The token is for this tab: a page without it shows nothing.
      const other = await page.context().newPage();
      await other.goto(`${origin}/console`);
      await other.getByText("The console is locked").waitFor();
      await assertAccessible(other);
    })());
  }, LONG);

  onDeno("is locked when the server does not know the token any more", function* () {
    const { page, show, origin } = yield* useConsole({ serve: [ask] });
    yield* until((async () => {
      await show("calls");
      await page.getByText("No calls yet").waitFor();
      await page.evaluate(() => sessionStorage.setItem("parley-console-token", "expired"));
      await page.getByRole("button", { name: "Copy a link" }).click();
      await page.getByText("The console is locked").waitFor();
      assert.ok(page.url().startsWith(origin));
    })());
  }, LONG);

  inBrowser("takes arguments of every type, as a form and as JSON", function* () {
    const { page, show } = yield* useConsole({ serve: [everything, greet, note] });
    yield* until((async () => {
      await show("play/tool/everything");
      await page.getByRole("radio", { name: era }).check();
      await press(page, "Run");
      await page.getByRole("alert").getByText("Name: is required").waitFor();
      await page.getByLabel("Name").fill("Ada");
      await page.getByLabel("Bags").fill("2");
      await page.getByLabel("Quiet").check();
      await page.getByLabel("aisle").check();
      await page.getByRole("radio", { name: "2", exact: true }).check();
      await page.getByLabel("Day").fill("2026-05-01");
      await page.getByLabel("List").fill("[1");
      await press(page, "Run");
      await page.getByRole("alert").getByText("List: expected JSON").waitFor();
      await assertAccessible(page);
      await page.getByLabel("List").fill('["a"]');
      await page.getByLabel("Nested").fill('{"a":1}');
      await press(page, "Run");
      const expected = {
        name: "Ada",
        bags: 2,
        quiet: true,
        seat: "aisle",
        row: 2,
        day: "2026-05-01",
        list: ["a"],
        nested: { a: 1 },
      };
      assert.deepEqual(
        JSON.parse((await result(page).locator("pre").first().textContent())!),
        expected,
      );
      await page.getByRole("tab", { name: "JSON" }).click();
      await page.getByRole("textbox", { name: "Arguments" }).fill(
        JSON.stringify({ ...expected, weight: 1.5 }),
      );
      await press(page, "Run");
      await page.getByText('"weight":1.5').first().waitFor();

      await page.getByRole("link", { name: /^greet/ }).click();
      await page.getByLabel("Who").fill("Bob");
      await press(page, "Run");
      await page.getByText("Hello Bob").waitFor();
      await page.getByRole("link", { name: /^note/ }).click();
      await page.getByLabel("Id").fill("7");
      await press(page, "Run");
      await page.getByText("Note 7").waitFor();
    })());
  }, LONG);

  inBrowser("shows what authors, people and models wrote as text", function* () {
    const { page, show } = yield* useConsole({ serve: [ask, poem] });
    yield* until((async () => {
      await show("play/tool/ask");
      await page.getByRole("radio", { name: era }).check();
      await press(page, "Run");
      const question = page.getByRole("region", { name: "Question" });
      await question.getByText(`Who? ${XSS}`).waitFor();
      await assertAccessible(page);
      await question.getByRole("textbox").fill(XSS);
      await press(question, "Accept");
      await page.getByText(`It is ${XSS}.`).waitFor();
      await press(page, "Run again");
      await press(question, "Decline");
      await page.getByText("Nobody: decline").waitFor();
      assert.equal(await page.locator("main img, main script").count(), 0);
      await assertAccessible(page);
    })());
  }, LONG);

  inBrowser("lets the person be the model", function* () {
    const { page, show } = yield* useConsole({ serve: [poem] });
    yield* until((async () => {
      await show("play/tool/poem");
      await page.getByRole("radio", { name: era }).check();
      await press(page, "Run");
      const sample = page.getByRole("region", { name: "Sample" });
      await sample.getByText(`A poem, please. ${XSS}`).waitFor();
      await assertAccessible(page);
      await sample.getByLabel("Reply").fill("Roses");
      await press(sample, "Reply");
      await sample.getByText("How long is it?").waitFor();
      await sample.getByLabel("Lines").fill("4");
      await press(sample, "Send the data");
      await page.getByText("Roses (4 lines)").waitFor();
      const wire = page.getByRole("region", { name: "Wire messages" });
      await wire.locator("summary").last().click();
      await wire.getByText("Roses (4 lines)").waitFor();
    })());
  }, LONG);

  inBrowser("plays a whole game of tic-tac-toe", function* () {
    // The person is X and begins; the built-in player does not lose.
    const { page, show } = yield* useConsole({ serve: [createPlayTtt(() => 0)] });
    yield* until((async () => {
      await show("play/tool/play_ttt");
      await page.getByRole("radio", { name: era }).check();
      await tick(page, "Sampling").uncheck();
      await press(page, "Run");
      const question = page.getByRole("region", { name: "Question" });
      for (let move = 1; move <= 5; move++) {
        await question.or(page.getByText('"ending"')).first().waitFor();
        if (await question.count() === 0) break;
        const before = await page.locator("ol.note li").count();
        // The form has radio buttons for few cells, and a list for many.
        const list = question.getByRole("combobox");
        if (await list.count() > 0) await list.selectOption({ index: 1 });
        else await question.getByRole("radio").first().check();
        await press(question, "Accept");
        await page.locator("ol.note li").nth(before).waitFor();
        await question.or(page.getByText('"ending"')).first().waitFor();
      }
      await page.getByText(/"ending": "(won|lost|draw)"/).waitFor();
    })());
  }, LONG);

  inBrowser("cancels a call", function* () {
    const { page, show, parley } = yield* useConsole({ serve: [ask] });
    yield* until((async () => {
      await show("play/tool/ask");
      await page.getByRole("radio", { name: era }).check();
      await press(page, "Run");
      await page.getByRole("region", { name: "Question" }).waitFor();
      await press(page, "Cancel");
      await page.getByText("cancelled", { exact: true }).waitFor();
      await page.getByRole("region", { name: "Question" }).waitFor({ state: "detached" });
      if (era === "2025-11-25") {
        while (parley.counts.live > 0) await page.evaluate(() => 0);
      }
    })());
  }, LONG);

  inBrowser("draws the view of a tool in a frame that reaches only its call", function* () {
    const { page, show } = yield* useConsole({ serve: [bookFlight, ask] });
    yield* until((async () => {
      await show("play/tool/book_flight");
      await page.getByRole("radio", { name: era }).check();
      await tick(page, "Forms").uncheck();
      await tick(page, "Pages").uncheck();
      await tick(page, "Sampling").uncheck();
      await tick(page, "App views").check();
      await page.getByRole("group", { name: "From" }).getByLabel("BER").check();
      await page.getByRole("group", { name: "To" }).getByLabel("LIS").check();
      await press(page, "Run");
      const frame = page.locator("iframe");
      assert.equal(await frame.getAttribute("sandbox"), "allow-scripts");
      const view = page.frameLocator("iframe");
      await view.getByRole("radio").first().check();
      await view.getByRole("button", { name: "Accept" }).click();
      await view.getByText("That makes").waitFor();
      // Its origin is opaque: it cannot read the token of the console.
      const inside = page.frames().find((one) => one.url().endsWith("/console/frame"))!;
      assert.equal(await inside.evaluate("origin"), "null");
      const reached = await inside.evaluate(`new Promise((resolve) => {
        addEventListener("message", ({ data }) => data.id === "x" && resolve(data.error ?? data.result));
        const params = { name: "ask", arguments: {} };
        parent.postMessage({ jsonrpc: "2.0", id: "x", method: "tools/call", params }, "*");
      })`);
      assert.match(JSON.stringify(reached), /reaches only its own call/);
      await view.getByLabel("window").check();
      await view.getByRole("button", { name: "Accept" }).click();
      await page.getByText('"status": "booked"').waitFor();
    })());
  }, LONG);

  onDeno("needs an access token where /mcp does", function* () {
    const principal = (request: Request) =>
      request.headers.get("authorization") === "Bearer secret"
        ? "ada"
        : new Response("no", { status: 401 });
    const { page, show } = yield* useConsole({ serve: [ask], principal });
    yield* until((async () => {
      await show("play");
      await page.getByLabel("Access token").fill("secret");
      await press(page, "Use this token");
      await page.getByRole("link", { name: /^ask/ }).waitFor();
      await assertAccessible(page);
    })());
  }, LONG);
});
