/**
 * Makes the pictures of the console in docs/, with Debian's Chromium.
 *
 *     deno task screenshots
 */
import { type Operation, run, until } from "effection";
import { join } from "node:path";
import type { BrowserContextOptions } from "playwright-core";
import { type OpenConsole, useConsole } from "../tests/console/console-page.ts";
import { root } from "../tests/harness/files.ts";
import { absence } from "../tests/harness/system.ts";
import { installDependencies } from "../tests/harness/toolchain.ts";
import { TestClient } from "../tests/support/modern/client.ts";
import { bookFlight } from "../tools/book_flight.ts";
import { planDinner } from "../tools/plan_dinner.ts";

const WIDE = { viewport: { width: 1160, height: 740 }, colorScheme: "light" } as const;

/** Calls a tool as a client with this name, which then waits for its person. */
async function call(
  { parley, origin }: OpenConsole,
  client: string,
  name: string,
  args: object,
): Promise<void> {
  const asks = name === "plan_dinner" ? { sampling: { tools: {} } } : {};
  const capabilities = { elicitation: { form: {} }, ...asks };
  const meta = { "io.modelcontextprotocol/clientInfo": { name: client, version: "1" } };
  const caller = new TestClient(parley.fetch, { url: `${origin}/mcp`, capabilities, meta });
  const { response } = await caller.start("tools/call", { name, arguments: args });
  await response.text();
}

function* picture(
  name: string,
  window: BrowserContextOptions,
  draw: (server: OpenConsole) => Promise<void>,
): Operation<void> {
  const server = yield* useConsole({ serve: [bookFlight, planDinner] }, window);
  yield* until((async () => {
    await draw(server);
    await server.page.mouse.move(0, 0);
    const path = join(root, "docs", `console-${name}.png`);
    await server.page.screenshot({ path, animations: "disabled", caret: "hide" });
    console.log(`${path} is up to date`);
  })());
}

async function someCalls(server: OpenConsole): Promise<void> {
  await call(server, "desktop app", "book_flight", { from: "BER", to: "LIS" });
  await call(server, "editor", "book_flight", { from: "LIS", to: "OSL" });
  await call(server, "web app", "plan_dinner", { guests: 4 });
  await call(server, "web app", "book_flight", { from: "OSL", to: "BER" });
  const { calls } = await server.parley.calls.list({ order: "newest" });
  await server.parley.calls.cancel(calls[0]!.id);
}

/** Answers the first question of the flight as the operator. */
async function answerFlight({ page, show }: OpenConsole): Promise<void> {
  await show("calls?tool=book_flight");
  await page.getByRole("region", { name: "Calls" }).getByRole("link").first().click();
  const question = page.getByRole("region", { name: /^Question/ });
  await question.getByRole("radio").nth(1).check();
  await question.getByRole("button", { name: "Answer as the operator" }).click();
  await question.getByText("That makes").waitFor();
}

installDependencies();
const missing = absence("browser");
if (missing) throw new Error(`Cannot make pictures: ${missing}; install Chromium`);

await run(function* () {
  yield* picture("calls", WIDE, async (server) => {
    await someCalls(server);
    await server.show("calls");
    await server.page.getByText("4 calls").waitFor();
  });
  yield* picture("call", WIDE, async (server) => {
    await someCalls(server);
    await answerFlight(server);
    const { page } = server;
    await page.getByText("Your answer was recorded").waitFor({ state: "detached" });
    await page.getByRole("region", { name: "Events" }).getByRole("button", { name: /answer/ })
      .click();
    await page.getByRole("region", { name: "Facts" }).evaluate((card) => card.scrollIntoView());
  });
  yield* picture("play", WIDE, async ({ page, show }) => {
    await show("play/tool/plan_dinner");
    await page.getByLabel("Guests").fill("4");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("region", { name: "Run" }).waitFor();
    await page.getByRole("region", { name: /Question|Sample/ }).first().waitFor();
    await page.locator(".catalog").evaluate((catalog) => catalog.scrollIntoView());
  });
  const phone = { viewport: { width: 360, height: 640 }, colorScheme: "dark" } as const;
  yield* picture("phone", phone, async (server) => {
    await someCalls(server);
    await server.show("calls");
    await server.page.getByText("4 calls").waitFor();
  });
});
