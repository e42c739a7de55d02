/// <reference lib="dom" />
/** A server on a socket whose console is open in a browser. */
import assert from "node:assert/strict";
import { type Operation, resource, until } from "effection";
import { createParley, type Parley, type ParleyOptions } from "parley-mcp";
import type { BrowserContextOptions, Page } from "playwright-core";
import { listen } from "../../src/platform/listen.ts";
import { useBrowser } from "../support/browser.ts";

export interface OpenConsole {
  readonly parley: Parley;
  readonly origin: string;
  readonly page: Page;
  /** Opens a screen, such as `play/tool/add`. */
  show(address: string): Promise<void>;
  /** Opens another page with its own link. */
  another(options?: { readonly address?: string }): Promise<Page>;
}

/** Fails if the page logs an error, violates its policy, or requests anything from elsewhere. */
export function useConsole(
  options: ParleyOptions,
  window: BrowserContextOptions = {},
): Operation<OpenConsole> {
  return resource(function* (provide) {
    const browser = yield* useBrowser(window);
    let origin = "";
    const parley = createParley({ console: true, publicUrl: () => origin, ...options });
    const server = yield* until(listen(parley.fetch, { port: 0, hostname: "127.0.0.1" }));
    origin = `http://127.0.0.1:${server.port}`;
    const problems: string[] = [];
    const another = async ({ address = "" } = {}) => {
      const page = await browser.newPage();
      page.on("pageerror", (error) => problems.push(String(error)));
      page.on("console", (message) => {
        // A server without prompts answers with an error status, which browsers log.
        const isStatus = message.text().startsWith("Failed to load resource");
        if (message.type() === "error" && !isStatus) problems.push(message.text());
      });
      page.on("dialog", (dialog) => problems.push(dialog.message()));
      page.on("request", (request) => {
        const { protocol, origin: to } = new URL(request.url());
        if (protocol !== "data:" && to !== origin) problems.push(`requested ${request.url()}`);
      });
      await page.goto(origin + await parley.consoleLink());
      await page.getByRole("navigation", { name: "Console" }).waitFor();
      if (address !== "") await page.goto(`${origin}/console#/${address}`);
      return page;
    };
    try {
      const page = yield* until(another());
      yield* provide({
        parley,
        origin,
        page,
        another,
        show: async (address) => {
          await page.goto(`${origin}/console#/${address}`);
        },
      });
    } finally {
      for (const page of browser.pages()) yield* until(page.close());
      yield* until(parley.close());
      yield* until(server.stop());
    }
    assert.deepEqual(problems, []);
  });
}

/** Fails if the page is wider than its window. */
export async function assertFits(page: Page): Promise<void> {
  const { scrollWidth, innerWidth } = await page.evaluate(() => ({
    scrollWidth: document.documentElement.scrollWidth,
    innerWidth: globalThis.innerWidth,
  }));
  assert.ok(scrollWidth <= innerWidth, `${scrollWidth} px in a window of ${innerWidth} px`);
}
