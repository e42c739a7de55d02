// deno-lint-ignore-file no-explicit-any
import assert from "node:assert/strict";
import { until } from "effection";
import { listen } from "../../src/platform/listen.ts";
import { bookFlight } from "../../tools/book_flight.ts";
import { connectHost, type Era, servingEra, textOf, ticketOf } from "../doors/host.ts";
import { absence } from "../harness/system.ts";
import { currentRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { useBrowser } from "../support/browser.ts";
import { assertAccessible } from "./served-page.ts";

const inBrowser = it.unless(absence("browser"));

/** Browsers are slow, so each runtime has one era. */
const era: Era = currentRuntime() === "deno" ? "legacy" : "modern";

describe(`the page of a real server (${era})`, () => {
  inBrowser("books a flight for a client that can ask nothing", function* () {
    const browser = yield* useBrowser({ viewport: { width: 360, height: 740 } });
    const page = yield* until(browser.newPage());
    let origin = "";
    const options = { serve: [bookFlight], publicUrl: () => origin };
    yield* until(servingEra(era, options, async ({ parley, fetch }) => {
      const server = await listen(parley.fetch, { port: 0, hostname: "127.0.0.1" });
      try {
        origin = `http://127.0.0.1:${server.port}`;
        const host = await connectHost(era, fetch, { name: "Some client" });
        const deferral = await host.call("book_flight", { from: "BER", to: "LIS" });
        const [url] = textOf(deferral).match(/http:\/\/127\.0\.0\.1:\d+\/pages\/[\w-]+/) ?? [];
        await page.goto(url!);
        assert.equal(await page.locator("h1").textContent(), "Book a flight asks");
        assert.match((await page.locator(".who").textContent())!, /Some client/);
        await assertAccessible(page);
        await page.getByRole("button", { name: "Accept" }).click();
        assert.match((await page.getByRole("alert").textContent())!, /Flight: is required/);
        await page.getByRole("radio").first().check();
        await page.getByRole("button", { name: "Accept" }).click();
        // The next question of the call, in the same tab.
        await page.getByText("That makes").waitFor();
        await page.getByLabel("window").check();
        await page.getByRole("button", { name: "Accept" }).click();
        await page.getByText("You can close this tab").waitFor();
        await assertAccessible(page);
        const result = await host.call("continue_call", { ticket: ticketOf(deferral) });
        const { status, seat } = result.structuredContent as any;
        assert.deepEqual([status, seat], ["booked", "window"]);
      } finally {
        await page.close();
        await server.stop();
      }
    }));
  }, { within: 90_000 });
});
