/// <reference lib="dom" />
import assert from "node:assert/strict";
import { until } from "effection";
import { createMcpTool, type McpToolContext } from "parley-mcp";
import type { Page } from "playwright-core";
import { z } from "zod";
import { testTool } from "parley-mcp";
import { absence } from "../harness/system.ts";
import { currentRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { TestClient } from "../support/modern/client.ts";
import { assertAccessible } from "../ui/served-page.ts";
import { assertFits, type OpenConsole, useConsole } from "./console-page.ts";

/** The browser does the work here, so one runtime is enough. */
const inBrowser = currentRuntime() === "bun" ? it.unless(absence("browser")) : it.skip;
const LONG = { within: 120_000 };
const XSS = `<img src=x onerror="alert('pwned')">`;

const ask = createMcpTool("ask").durable().description("Asks.").parameters(
  z.object({ about: z.string() }),
)
  .elicits({
    who: { response: z.object({ who: z.string(), pin: z.string() }), sensitive: ["pin"] },
  })
  .execute(function* ({ about }, ctx) {
    yield* ctx.log("info", XSS);
    const answer = yield* ctx.elicit("who", { message: `Who knows about ${about}?` });
    return answer.action === "accept" ? `It is ${answer.content.who}.` : answer.action;
  });

const fan = createMcpTool("fan").description("Asks in branches.")
  .execute(function* (_, ctx) {
    const one = (name: string) =>
      function* (branch: McpToolContext) {
        yield* branch.log("info", name);
        return (yield* branch.sample({ prompt: `What about ${name}?`, maxTokens: 10 })).text;
      };
    const all = yield* ctx.branches([one("north"), one("south")]);
    return JSON.stringify(all);
  });

const plain = createMcpTool("plain").description("Asks.")
  .elicits({ ok: { response: z.object({ ok: z.boolean() }) } })
  .execute(function* (_, ctx) {
    return (yield* ctx.elicit("ok", { message: "OK?" })).action;
  });

const busy = createMcpTool("busy").description("Logs a lot, then asks.")
  .elicits({ ok: { response: z.object({ ok: z.boolean() }) } })
  .execute(function* (_, ctx) {
    for (let at = 0; at < 100_000; at++) yield* ctx.log("info", at);
    return (yield* ctx.elicit("ok", { message: "OK?" })).action;
  });

const CAPABILITIES = { elicitation: { form: {} }, sampling: { tools: {} } };

/** Calls tools as a client whose name is an attack. */
function client({ parley, origin }: OpenConsole): TestClient {
  const meta = { "io.modelcontextprotocol/clientInfo": { name: XSS, version: "1" } };
  return new TestClient(parley.fetch, { url: `${origin}/mcp`, capabilities: CAPABILITIES, meta });
}

async function call(server: OpenConsole, name: string, args: object = {}): Promise<void> {
  const { response } = await client(server).start("tools/call", { name, arguments: args });
  await response.text();
}

const rows = (page: Page) => page.getByRole("region", { name: "Calls" }).getByRole("link");

describe("Calls in a browser", () => {
  inBrowser("lists calls as they come, and answers one as the operator", function* () {
    const server = yield* useConsole({ serve: [ask], formPasswords: true });
    const { page, show } = server;
    yield* until((async () => {
      await show("calls");
      await page.getByText("No calls yet").waitFor();
      await assertAccessible(page);
      await call(server, "ask", { about: XSS });
      await rows(page).first().waitFor();
      await page.getByRole("link", { name: /Calls 1/ }).waitFor();
      await assertAccessible(page);
      await rows(page).first().click();
      const question = page.getByRole("region", { name: "Question who" });
      await question.getByText(`Who knows about ${XSS}?`).waitFor();
      // A form with a password is asked on a page.
      await question.getByText(/Awaits the person, by page, for/).waitFor();
      await assertAccessible(page);
      await question.getByRole("button", { name: "Answer as the operator" }).click();
      await question.getByRole("alert").getByText("Who: is required").waitFor();
      await question.getByLabel("Who").fill(XSS);
      await question.getByLabel("Pin").fill("sesame");
      await question.getByRole("button", { name: "Answer as the operator" }).click();
      const outcome = page.getByRole("region", { name: "Outcome" });
      await outcome.waitFor();
      assert.match((await outcome.textContent())!, /It is <img src=x/);
      const events = page.getByRole("region", { name: "Events" });
      await events.getByRole("button", { name: /answer.*via operator/ }).click();
      const event = page.getByRole("region", { name: "Event", exact: true });
      await event.getByText('"via": "operator"').waitFor();
      await page.getByRole("tab", { name: "Exchanges" }).click();
      await page.getByText('"inputResponses"').waitFor();
      await page.getByRole("tab", { name: "2025-11-25" }).click();
      await page.getByText('"method": "elicitation/create"').waitFor();
      await assertAccessible(page);
      // Step by step, back to when the question was open.
      await page.getByRole("tab", { name: "Replay" }).click();
      const state = page.getByRole("region", { name: "State" });
      await state.getByText("After event 1", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Forward" }).click();
      await state.locator("li", { hasText: "who" }).waitFor();
      await state.getByText("waiting", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Forward" }).click();
      await state.locator("li", { hasText: "via operator" }).waitFor();
      await assertAccessible(page);
      await page.getByRole("slider", { name: "Event" }).press("End");
      await state.getByText("completed", { exact: true }).waitFor();
      assert.doesNotMatch(await page.content(), /sesame/);
      assert.equal(await page.locator("main img").count(), 0);
    })());
  }, LONG);

  inBrowser("copies a call as a test that passes", function* () {
    const server = yield* useConsole({ serve: [ask], formPasswords: true });
    const { page, show } = server;
    yield* until((async () => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await call(server, "ask", { about: "it" });
      await show("calls");
      await rows(page).first().click();
      const question = page.getByRole("region", { name: "Question who" });
      await question.getByLabel("Who").fill("Ada");
      await question.getByLabel("Pin").fill("sesame");
      await question.getByRole("button", { name: "Answer as the operator" }).click();
      await page.getByRole("region", { name: "Outcome" }).waitFor();
      await page.getByRole("button", { name: "Copy as a test" }).click();
      await page.getByText("The test copied").waitFor();
      const script: string = await page.evaluate("navigator.clipboard.readText()");
      assert.doesNotMatch(script, /sesame/);
      // The body of the test, run against the same tool.
      const [, body = ""] = /async \(\) => \{\n([\s\S]*)\}\);\n$/.exec(script) ?? [];
      const run = new Function("testTool", "assert", "ask", `return (async () => {${body}})()`);
      await run(testTool, assert, ask);
    })());
  }, LONG);

  inBrowser("filters, cancels, and fits a phone in the dark", function* () {
    const dark = { viewport: { width: 360, height: 740 }, colorScheme: "dark" } as const;
    const server = yield* useConsole({ serve: [ask, fan], formPasswords: true }, dark);
    const { page, show } = server;
    yield* until((async () => {
      await call(server, "ask", { about: "it" });
      await call(server, "fan");
      await show("calls");
      await page.getByText("2 calls").waitFor();
      await assertFits(page);
      await page.getByLabel("Tool").fill("fan");
      await page.getByLabel("Tool").press("Enter");
      await page.getByText("1 call", { exact: true }).waitFor();
      await rows(page).first().click();
      await page.getByRole("heading", { name: "fan" }).waitFor();
      // A lane for each branch, and one for the tool.
      const events = page.getByRole("region", { name: "Events" });
      const lanes = events.locator(".lanes").first();
      await lanes.locator("i").nth(2).waitFor({ state: "attached" });
      assert.equal(await lanes.locator("i").count(), 3);
      await assertAccessible(page);
      await assertFits(page);
      await page.getByRole("button", { name: "Cancel the call" }).click();
      await page.getByText("The call was cancelled").waitFor();
      await page.locator(".badge.cancelled").waitFor();
      await show("calls?state=cancelled");
      await page.getByText("1 call", { exact: true }).waitFor();
    })());
  }, LONG);

  inBrowser("runs a call again without effects, and shows where the code diverges", function* () {
    const first = { ok: { response: z.object({ ok: z.boolean() }) } };
    const tool = (key: string) =>
      createMcpTool("steps").durable().description("Steps.").elicits(first)
        .execute(function* (_, ctx) {
          yield* ctx.step(key, function* () {
            return 1;
          });
          return (yield* ctx.elicit("ok", { message: "OK?" })).action;
        });
    const server = yield* useConsole({ serve: [tool("measure")] });
    const { page, show, parley } = server;
    yield* until((async () => {
      await call(server, "steps");
      await show("calls");
      await rows(page).first().click();
      await page.getByRole("tab", { name: "Replay" }).click();
      const dry = page.getByRole("region", { name: "Dry run" });
      await dry.getByRole("button").click();
      await dry.getByText("The replay matches the record").waitFor();
      await assertAccessible(page);
      // The code changes while the call waits.
      parley.remove("tool", "steps");
      parley.add(tool("guess"));
      await dry.getByRole("button").click();
      await dry.getByText("The replay differs from the record").waitFor();
      await dry.getByText(/it would step guess/).waitFor();
      await dry.locator("li", { hasText: "step measure" }).getByText("diverged").waitFor();
      await assertAccessible(page);
    })());
  }, LONG);

  inBrowser("has at most 500 rows in the document, however many calls there are", function* () {
    const server = yield* useConsole({
      serve: [plain],
      limits: { maxSessions: 20_000, maxMemory: 2 ** 31 },
    });
    yield* until((async () => {
      const one = client(server);
      const add = async (count: number) => {
        const params = { name: "plain", arguments: {} };
        const calls = Array.from({ length: count }, () => one.start("tools/call", params));
        for (const { response } of await Promise.all(calls)) await response.text();
      };
      /** Counts requests and rows until the list is shown. Times would depend on the machine. */
      const opened = async (total: string) => {
        const page = await server.another();
        let requests = 0;
        page.on("request", (request) => {
          if (/api\/calls\?/.test(request.url())) requests++;
        });
        await page.goto(`${server.origin}/console#/calls?order=oldest`);
        await page.getByText(total).waitFor();
        await rows(page).nth(5).waitFor();
        const count = await page.locator(".row").count();
        return { page, requests, count };
      };
      await add(10);
      const few = await opened("10 calls");
      await few.page.close();
      for (let at = 0; at < 9_990; at += 270) await add(270);
      const { page, requests, count } = await opened("10,000 calls");
      assert.ok(count <= 500, `${count} rows`);
      assert.ok(requests <= few.requests + 2, `${requests} requests, ${few.requests} for ten`);
      // Any place can be reached, and is loaded then.
      const list = page.getByRole("region", { name: "Calls" });
      await list.evaluate((element) => element.scrollTop = element.scrollHeight);
      await page.waitForFunction(() => {
        const last = document.querySelector<HTMLElement>("a.row:last-of-type");
        return last !== null && parseInt(last.style.top) === 9_999 * parseInt(last.style.height);
      });
      assert.ok(await page.locator(".row").count() <= 500);
    })());
  }, { within: 240_000 });

  inBrowser("scrolls to any of 100,000 events", function* () {
    const server = yield* useConsole({
      serve: [busy],
      limits: {
        maxEventsPerSession: 200_000,
        maxEventBytesPerSession: 2 ** 30,
        maxMemory: 2 ** 31,
      },
    });
    const { page, show } = server;
    yield* until((async () => {
      await call(server, "busy");
      await show("calls");
      await rows(page).first().click();
      const events = page.getByRole("region", { name: "Events" });
      await events.getByRole("button", { name: /^1 / }).waitFor();
      assert.ok(await page.locator(".row").count() <= 500);
      for (const lsn of [50_000, 99_999, 3]) {
        await events.evaluate((element, lsn) => element.scrollTop = (lsn - 1) * 36, lsn);
        const name = new RegExp(`^${lsn}\\D+log info ${lsn - 1}$`);
        await events.getByRole("button", { name }).click();
        await page.getByRole("heading", { name: `Event ${lsn}` }).waitFor();
        assert.ok(await page.locator(".row").count() <= 500);
      }
    })());
  }, { within: 240_000 });
});
