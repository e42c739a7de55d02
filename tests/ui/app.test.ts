// deno-lint-ignore-file no-explicit-any
import assert from "node:assert/strict";
import { until } from "effection";
import { askingView } from "../../src/ui/view-html.ts";
import { absence } from "../harness/system.ts";
import { currentRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { ScriptedCall, useApp } from "./app.ts";
import { EVERYTHING } from "./everything.ts";
import { assertAccessible } from "./served-page.ts";

/** The browser does the work here, so one runtime is enough. */
const inBrowser = currentRuntime() === "bun" ? it.unless(absence("browser")) : it.skip;
const LONG = { within: 90_000 };

const form = (properties: object, required: readonly string[] = []) => ({
  type: "object",
  properties,
  required,
});

const SEAT = {
  key: "seat",
  message: "Which seat?",
  requestedSchema: form({ seat: { type: "string", title: "Seat", enum: ["window", "aisle"] } }, [
    "seat",
  ]),
};
const CONFIRM = {
  key: "confirm",
  message: "Book it?",
  requestedSchema: form({ name: { type: "string", title: "Name", minLength: 2 } }, ["name"]),
};
const html = askingView();

describe("the view that asks, in a host with AppBridge", () => {
  inBrowser(
    "shown while the call waits: asks, marks problems, continues, tells the model",
    function* () {
      const call = new ScriptedCall([SEAT, CONFIRM]);
      call.canBeFound = false;
      const app = yield* useApp(call.callTool);
      const { page, view } = app;
      yield* until((async () => {
        await app.mount({ html, tool: "book", messages: true, theme: "dark" });
        // Nothing is drawn before something is asked.
        assert.equal(await view.locator("main").innerHTML(), "");
        await app.input({ flight: "LH1" });
        call.canBeFound = true;
        await view.getByText("Which seat?").waitFor();
        assert.deepEqual(call.calls.at(-1), {
          find: { tool: "book", arguments: { flight: "LH1" } },
        });
        const [capabilities] = await app.events("initialize");
        assert.deepEqual(capabilities.elicitation, {});
        assert.equal(await view.locator("html").getAttribute("data-theme"), "dark");
        const frame = page.frames()[1]!;
        assert.equal(await frame.evaluate("self.origin"), "null");
        await assertAccessible(frame);

        // What is not filled in is marked, and nothing is sent.
        await view.getByRole("button", { name: "Accept" }).click();
        assert.equal(await view.locator("#f0-problem").textContent(), "Is required.");
        await assertAccessible(frame);
        await view.getByLabel("aisle").check();
        // Hosts repeat notifications: what was entered stays.
        await app.input({ flight: "LH1" });
        await app.result(call.deferral());
        assert.equal(await view.getByLabel("aisle").isChecked(), true);
        await view.getByRole("button", { name: "Accept" }).click();

        await view.getByText("Book it?").waitFor();
        await view.getByLabel("Name").fill("A");
        await view.getByLabel("Name").press("Enter");
        assert.equal(
          await view.locator("#f0-problem").textContent(),
          "Expected at least 2 characters.",
        );
        call.problems = [{ field: "name", message: "is on no list" }];
        await view.getByLabel("Name").fill("Ada");
        await view.getByLabel("Name").press("Enter");
        await view.getByText("Is on no list.").waitFor();
        await view.getByLabel("Name").fill("Bob");
        await view.getByLabel("Name").press("Enter");
        await view.getByText("Booked.").waitFor();
        await assertAccessible(frame);
        await app.heard("ui/message");
      })());
      assert.deepEqual(call.answers, [
        { action: "accept", content: { seat: "aisle" } },
        { action: "accept", content: { name: "Bob" } },
      ]);
      const messages = yield* until(app.events("ui/message"));
      assert.equal(messages.length, 1);
      assert.match(messages[0].content[0].text, /continue_call with \{"ticket":"t_1"\}/);
      const sizes = yield* until(app.events("size"));
      assert.ok(Math.max(...sizes) > 100);
    },
    LONG,
  );

  inBrowser(
    "shown with the result of a host that strips it: finds the ticket in the text",
    function* () {
      const call = new ScriptedCall([SEAT]);
      call.canBeFound = false;
      call.tell = false;
      const app = yield* useApp(call.callTool, { viewport: { width: 360, height: 640 } });
      const { view } = app;
      yield* until((async () => {
        await app.mount({ html, messages: true });
        const { content } = call.deferral();
        await app.result({ content });
        await app.result({ content });
        await view.getByText("Which seat?").waitFor();
        await view.getByRole("button", { name: "Decline" }).click();
        await view.getByText("Booked.").waitFor();
      })());
      assert.deepEqual(call.answers, [{ action: "decline" }]);
      // The model's own call is open and brings the result.
      assert.deepEqual(yield* until(app.events("ui/message")), []);
    },
    LONG,
  );

  for (const sandbox of ["allow-scripts allow-same-origin allow-forms", "allow-scripts"]) {
    inBrowser(`works behind the sandbox proxy of the official host (${sandbox})`, function* () {
      const call = new ScriptedCall([SEAT, CONFIRM]);
      const app = yield* useApp(call.callTool);
      const { proxied: view, proxy, page } = app;
      yield* until((async () => {
        await app.mount({ html, tool: "book", proxy, sandbox });
        await view.getByText("Which seat?").waitFor();
        const [, outer, inner] = page.frames();
        assert.equal(new URL(outer!.url()).origin, new URL(proxy).origin);
        const isOpaque = !sandbox.includes("allow-same-origin");
        assert.equal(
          await inner!.evaluate("self.origin"),
          isOpaque ? "null" : new URL(proxy).origin,
        );
        await assertAccessible(inner!);
        await view.getByLabel("aisle").check();
        await view.getByRole("button", { name: "Accept" }).click();
        await view.getByLabel("Name").fill("Ada");
        await view.getByLabel("Name").press("Enter");
        await view.getByText("Booked.").waitFor();
      })());
      assert.deepEqual(call.answers, [
        { action: "accept", content: { seat: "aisle" } },
        { action: "accept", content: { name: "Ada" } },
      ]);
    }, LONG);
  }

  inBrowser("shows no form if the host lets views call no tools", function* () {
    const call = new ScriptedCall([SEAT]);
    const app = yield* useApp(call.callTool);
    const { view, page } = app;
    yield* until((async () => {
      await app.mount({ html, serverTools: false });
      await app.result(call.deferral());
      await view.getByText("cannot be sent from here").waitFor();
      await view.getByText("Ask the assistant to continue").waitFor();
      assert.equal(await view.locator("form, button").count(), 0);
      await assertAccessible(page.frames()[1]!);
      // The host can still ask by itself.
      const answer = app.elicit({ message: "Sure?", requestedSchema: form({}) });
      await view.getByRole("button", { name: "Accept" }).click();
      assert.deepEqual(await answer, { action: "accept", content: {} });
    })());
    assert.deepEqual(call.calls, []);
  }, LONG);

  inBrowser("does not speak of an answer that nobody gave here", function* () {
    const call = new ScriptedCall([SEAT]);
    call.canBeFound = false;
    let isElsewhere = true;
    const { ticket, secret } = call;
    const elsewhere = {
      content: [],
      _meta: { "parley/ask": { ticket, secret, state: "waiting" } },
    };
    const app = yield* useApp((params) => isElsewhere ? elsewhere : call.callTool(params));
    const { view } = app;
    yield* until((async () => {
      await app.mount({ html, messages: true });
      const { content } = call.deferral();
      await app.result({ content });
      await app.heard("tools/call", "ticket");
      assert.equal(await view.locator("main").innerHTML(), "");
      // The view asks again by itself.
      isElsewhere = false;
      await view.getByText("Which seat?").waitFor();
      isElsewhere = true;
      await app.result({ content });
      await view.getByText("no longer open here").waitFor();
      assert.equal(await view.getByText("was sent").count(), 0);
      assert.deepEqual(await app.events("ui/message"), []);
    })());
  }, LONG);

  inBrowser("shown again in an old conversation: shows where the call stands", function* () {
    const call = new ScriptedCall([SEAT]);
    const old = call.deferral();
    call.callTool({
      name: "answer_call",
      arguments: { answer: { question: "q-0", action: "decline" } },
    });
    call.canBeFound = false;
    const app = yield* useApp(call.callTool);
    yield* until((async () => {
      await app.mount({ html });
      await app.result(old);
      await app.view.getByText("Booked.").waitFor();
      assert.equal(await app.view.getByRole("button").count(), 0);
    })());
  }, LONG);

  inBrowser("says why an answer did not arrive, and lets the person try again", function* () {
    const call = new ScriptedCall([CONFIRM]);
    let broken = true;
    const app = yield* useApp((params) => {
      if (params.arguments.answer && broken) throw new Error("The connection broke");
      return call.callTool(params);
    });
    const { view } = app;
    yield* until((async () => {
      await app.mount({ html });
      await view.getByLabel("Name").fill("Ada");
      await view.getByRole("button", { name: "Accept" }).click();
      await view.getByText("Your answer was not sent.").waitFor();
      broken = false;
      await view.getByRole("button", { name: "Accept" }).click();
      await view.getByText("Booked.").waitFor();
    })());
    assert.deepEqual(call.answers, [{ action: "accept", content: { name: "Ada" } }]);
  }, LONG);

  inBrowser("ignores a reply that a later one has overtaken", function* () {
    const call = new ScriptedCall([SEAT, CONFIRM]);
    const late = Promise.withResolvers<void>();
    const app = yield* useApp(async (params) => {
      const reply = call.callTool(params);
      if (params.arguments.ticket) await late.promise;
      return reply;
    });
    const { view } = app;
    yield* until((async () => {
      await app.mount({ html });
      await view.getByText("Which seat?").waitFor();
      await app.result(call.deferral());
      await app.heard("tools/call", "ticket");
      await view.getByLabel("window").check();
      await view.getByRole("button", { name: "Accept" }).click();
      await view.getByLabel("Name").fill("Ada");
      late.resolve();
      await view.getByLabel("Name").press("Enter");
      await view.getByText("Booked.").waitFor();
    })());
    assert.deepEqual(call.answers.length, 2);
  }, LONG);

  inBrowser("continues if its question was answered elsewhere", function* () {
    const call = new ScriptedCall([CONFIRM, SEAT]);
    const app = yield* useApp(call.callTool);
    const { view } = app;
    yield* until((async () => {
      await app.mount({ html });
      await view.getByLabel("Name").fill("Ada");
      call.callTool({
        name: "answer_call",
        arguments: { answer: { question: "q-0", action: "decline" } },
      });
      await view.getByRole("button", { name: "Accept" }).click();
      await view.getByText("Which seat?").waitFor();
    })());
    assert.deepEqual(call.answers, [{ action: "decline" }]);
  }, LONG);

  inBrowser("draws forms for a host that asks itself (SEP-3118)", function* () {
    const call = new ScriptedCall([]);
    call.canBeFound = false;
    const app = yield* useApp(call.callTool, { timezoneId: "Europe/Berlin" });
    const { view, page } = app;
    yield* until((async () => {
      await app.mount({ html });
      const answer = app.elicit({
        mode: "form",
        message: "Some details, please.",
        requestedSchema: form(EVERYTHING, ["name"]),
        _meta: { ui: { resourceUri: "ui://parley/ask.html" } },
      });
      await view.getByLabel("Your name").fill("Ada");
      await view.getByLabel("Call me at", { exact: false }).first().fill("2026-07-01T09:30");
      await view.getByLabel("Bags").fill("2");
      await assertAccessible(page.frames()[1]!);
      await view.getByRole("button", { name: "Accept" }).click();
      assert.deepEqual(await answer, {
        action: "accept",
        content: {
          name: "Ada",
          at: "2026-07-01T09:30:00+02:00",
          bags: 2,
          quiet: true,
        },
      });
      const next = app.elicit({ message: "Sure?", requestedSchema: form({}) });
      await view.getByText("Sure?").waitFor();
      await view.getByRole("button", { name: "Decline" }).click();
      assert.deepEqual(await next, { action: "decline" });
      const url = await app.elicit({ mode: "url", message: "Go", url: "https://x.example" }) as any;
      assert.equal(url.code, -32603);
    })());
  }, LONG);
});
