/**
 * A real browser for one test: Debian's Chromium, driven by playwright-core, which works
 * on Deno and on Bun. It starts with an empty profile, sends nothing to the network by
 * itself, and ends with its scope.
 *
 *     const inBrowser = it.unless(absence("browser"));
 *     inBrowser("shows the page", function* () {
 *       const browser = yield* useBrowser();
 *       const page = yield* until(browser.newPage());
 */
import { type Operation, resource, until } from "effection";
import { type BrowserContext, type BrowserContextOptions, chromium } from "playwright-core";
import { CHROMIUM } from "../harness/system.ts";
import { useFolder } from "./folder.ts";

const flags = [
  // Tests may run as root, where Chromium's own sandbox does not work.
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A browser window with its own cookies and storage. */
export function useBrowser(options: BrowserContextOptions = {}): Operation<BrowserContext> {
  return resource(function* (provide) {
    const profile = yield* useFolder();
    const starting = chromium.launchPersistentContext(profile, {
      executablePath: CHROMIUM,
      headless: true,
      ...options,
      args: flags,
    });
    try {
      yield* provide(yield* until(starting));
    } finally {
      // Also if the test was halted before it had started.
      yield* until(starting.then((context) => context.close(), () => {}));
    }
  });
}
