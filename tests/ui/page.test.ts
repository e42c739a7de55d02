/// <reference lib="dom" />
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { AskingPlace } from "../../src/server/doors/types.ts";
import { absence } from "../harness/system.ts";
import { currentRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { useBrowser } from "../support/browser.ts";
import { HandPlace, question } from "../support/hand-place.ts";
import { EVERYTHING } from "./everything.ts";
import { assertAccessible, useServedPage } from "./served-page.ts";

/** The browser does the work here, so one runtime is enough. */
const inBrowser = currentRuntime() === "deno" ? it.unless(absence("browser")) : it.skip;
const LONG = { within: 90_000 };

const REQUIRED = ["name", "mail", "seat", "row"];

function everything() {
  return question(EVERYTHING, {
    required: REQUIRED,
    message: "Some details for your booking, please.\nThey are not shared.",
  });
}

function* open(place: AskingPlace, options?: BrowserContextOptions): Operation<Page> {
  const url = yield* useServedPage(place);
  const browser = yield* useBrowser(options);
  const page = yield* until(browser.newPage());
  yield* until(page.goto(url));
  return page;
}

const heading = (page: Page) => page.locator("h1").textContent();

/** Presses a key until the element has the focus. */
async function focusWith(page: Page, key: string, selector: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    if (await page.locator(selector).evaluate((it) => it.matches(":focus"))) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${key} does not lead to ${selector}`);
}

describe("the asking page in a browser", () => {
  inBrowser("takes an answer by keyboard alone, at phone width, in the dark", function* () {
    const place = new HandPlace(everything());
    place.next.push(
      question({ ok: { type: "boolean", title: "Book it" } }, {
        required: ["ok"],
        message: "Book seat 12A?",
      }),
      { ended: "finished" },
    );
    const page = yield* open(place, {
      viewport: { width: 360, height: 740 },
      colorScheme: "dark",
      timezoneId: "Asia/Kolkata",
    });
    yield* until((async () => {
      const overflow = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert.equal(await overflow(), false);
      const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(paper, "rgb(23, 24, 26)");
      await assertAccessible(page);

      // An answer that does not fit is marked beside its fields.
      await focusWith(page, "Tab", "#f0");
      await page.keyboard.type("A");
      await focusWith(page, "Tab", "#f5");
      await page.keyboard.type("heavy");
      await page.keyboard.press("Enter");
      await page.locator(".problems").waitFor();
      assert.equal(
        await page.locator("#f0-problem").textContent(),
        "Expected at least 2 characters.",
      );
      assert.equal(
        await page.locator("#f5-problem").textContent(),
        "Expected a number, such as 12 or 1.5.",
      );
      assert.equal(await page.locator("#f9-problem").textContent(), "Is required.");
      assert.equal(await page.title(), "Problem: Book a seat asks");
      assert.equal(await page.locator(".problems").evaluate((it) => it.matches(":focus")), true);
      assert.equal(await page.inputValue("#f5"), "heavy");
      assert.equal(await overflow(), false);
      await assertAccessible(page);

      await focusWith(page, "Tab", "#f0");
      await page.keyboard.type("Ada");
      await focusWith(page, "Tab", "#f1");
      await page.keyboard.type("ada@example.com");
      await focusWith(page, "Tab", "#f4");
      await page.keyboard.type("05012026");
      await page.keyboard.press("ArrowRight");
      await page.keyboard.type("1230PM");
      await focusWith(page, "Tab", "#f5");
      await page.keyboard.press("ControlOrMeta+A");
      await page.keyboard.type("2.5");
      await focusWith(page, "Tab", "#f7");
      await page.keyboard.press("Space");
      await focusWith(page, "Tab", 'input[name=f9][value="0"]');
      await page.keyboard.press("ArrowDown");
      await focusWith(page, "Tab", "#f10");
      await page.keyboard.press("3");
      await focusWith(page, "Tab", 'input[name=f11][value="1"]');
      await page.keyboard.press("Space");
      await focusWith(page, "Tab", "button[value=accept]");
      await page.keyboard.press("Enter");
      await page.getByText("Book seat 12A?").waitFor();
      await assertAccessible(page);
      await focusWith(page, "Tab", "button[value=decline]");
      await page.keyboard.press("Enter");
      await page.getByText("You can close this tab").waitFor();
      assert.equal(await heading(page), "You declined to answer.");
      await assertAccessible(page);
    })());
    assert.deepEqual(place.answers.map(({ action, content }) => ({ action, content })), [
      {
        action: "accept",
        content: {
          name: "Ada",
          mail: "ada@example.com",
          at: "2026-05-01T12:30:00+05:30",
          weight: 2.5,
          bags: 1,
          quiet: false,
          seat: "a",
          row: "3",
          meals: ["lunch"],
        },
      },
      { action: "decline", content: undefined },
    ]);
  }, LONG);

  inBrowser("is accessible and fits, in light and dark, narrow and wide", function* () {
    const page = yield* open(new HandPlace(everything()));
    yield* until((async () => {
      await page.getByRole("button", { name: "Accept" }).click();
      await page.locator(".problems").waitFor();
      await page.getByLabel("Window").check();
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        for (const width of [320, 360, 1200]) {
          await page.setViewportSize({ width, height: 740 });
          assert.equal(
            await page.evaluate(() => document.documentElement.scrollWidth > innerWidth),
            false,
          );
          await assertAccessible(page);
        }
      }
    })());
  }, LONG);

  inBrowser("works without JavaScript, and shows no secret again", function* () {
    const place = new HandPlace(
      question({ user: { type: "string" }, pin: { type: "string", title: "PIN" } }, {
        required: ["user", "pin"],
        sensitive: ["pin"],
      }),
    );
    place.next.push(question({ ok: { type: "boolean" } }, { message: "Really?" }), {
      ended: "finished",
    });
    const page = yield* open(place, { javaScriptEnabled: false });
    yield* until((async () => {
      await page.getByLabel("PIN").fill("1234");
      await page.getByRole("button", { name: "Accept" }).click();
      assert.match((await page.getByRole("alert").textContent())!, /User: is required/);
      assert.equal(await page.getByLabel("PIN").inputValue(), "");
      assert.doesNotMatch(await page.content(), /1234/);
      await page.getByLabel("User").fill("ada");
      await page.getByLabel("PIN").fill("1234");
      await page.getByRole("button", { name: "Accept" }).click();
      await page.getByText("Really?").waitFor();
      assert.match((await page.getByRole("status").first().textContent())!, /Your answer was sent/);
      await page.getByRole("button", { name: "Decline" }).click();
      await page.getByText("You declined").waitFor();
    })());
    assert.deepEqual(place.answers.map(({ content }) => content), [
      { user: "ada", pin: "1234" },
      undefined,
    ]);
  }, LONG);

  inBrowser(
    "opened twice: the second tab notices, and the next question appears in the first",
    function* () {
      const place = new HandPlace(question({ seat: { type: "string" } }));
      const page = yield* open(place);
      yield* until((async () => {
        const second = await page.context().newPage();
        await second.goto(page.url());
        await page.getByLabel("Seat").fill("12A");
        await page.keyboard.press("Enter");
        await second.getByText("no longer open").waitFor();
        assert.equal(await second.getByRole("button", { name: "Accept" }).isDisabled(), true);
        await assertAccessible(second);
        await page.getByText("You can close this tab").waitFor();
        await assertAccessible(page);
        place.become(question({ ok: { type: "boolean" } }, { message: "Really?" }));
        await page.getByText("Really?").waitFor();
        await second.getByRole("link", { name: "See what is next" }).click();
        await second.getByText("Really?").waitFor();
        // Cancelled while the page is open.
        place.become({ ended: "gone" });
        await second.getByText("no longer open").waitFor();
        await second.getByRole("link").click();
        await second.getByText("The call was cancelled").waitFor();
        await assertAccessible(second);
      })());
      assert.equal(place.answers.length, 1);
    },
    LONG,
  );
});
