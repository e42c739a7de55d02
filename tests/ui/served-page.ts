/** An asking page that a browser can open, and how accessible it is. */
import assert from "node:assert/strict";
import { type Operation, resource, until, useScope } from "effection";
import { createRequire } from "node:module";
import type { Frame, Page } from "playwright-core";
import { systemClock } from "../../src/lib/clock.ts";
import { Deadlines } from "../../src/lib/deadlines.ts";
import { listen } from "../../src/platform/listen.ts";
import { askingPage } from "../../src/server/asking-page.ts";
import type { AskingPlace } from "../../src/server/doors/types.ts";
import { Pages } from "../../src/server/pages.ts";

/** Serves the page on a local port, as a server on stdio does. */
export function useServedPage(place: AskingPlace): Operation<string> {
  return resource(function* (provide) {
    const deadlines = new Deadlines(systemClock);
    const failures: unknown[] = [];
    const pages = new Pages({ openPort: listen });
    pages.privately = true;
    pages.settle({
      scope: yield* useScope(),
      deadlines,
      report: ({ error }) => void failures.push(error),
    });
    let url = "";
    const respond = askingPage(place, { url: () => url, deadlines });
    const page = yield* pages.open({ respond }, "", crypto.randomUUID());
    url = page.url;
    try {
      yield* provide(url);
    } finally {
      yield* until(pages.close());
      deadlines.clear();
    }
    assert.deepEqual(failures, []);
  });
}

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** Fails if axe finds anything, in a page or in a frame of it. */
export async function assertAccessible(page: Page | Frame): Promise<void> {
  await page.addScriptTag({ path: AXE }).catch(async () => {
    // A page with a strict policy takes no script tags.
    const { readFileSync } = await import("node:fs");
    await page.evaluate(readFileSync(AXE, "utf8"));
  });
  const findings = await page.evaluate(async () => {
    // deno-lint-ignore no-explicit-any
    const { violations } = await (globalThis as any).axe.run();
    // deno-lint-ignore no-explicit-any
    return violations.map(({ id, help, nodes }: any) => [id, help, nodes.map((n: any) => n.html)]);
  });
  assert.deepEqual(findings, []);
}
