/// <reference lib="dom" />
/**
 * What the console costs: calls and questions of a server while the list of calls is open in a
 * browser, compared with the same server while nobody looks; and the time that the page takes to
 * open with many calls, and with a long one, compared with ten calls.
 *
 *     deno task bench console
 *
 * Needs Chromium. On a machine with two cores, the browser takes time from the server and from its
 * clients, so the rate depends on other load more than the CPU time does.
 */
import { run, until } from "effection";
import type { Page } from "playwright-core";
import { absence } from "../tests/harness/system.ts";
import { useBrowser } from "../tests/support/browser.ts";
import { ratio } from "./kit/compare.ts";
import { figure, find, spreadOf } from "./kit/findings.ts";
import type { Work } from "./kit/flows.ts";
import { Driver, Server } from "./kit/processes.ts";

const ROUNDS = 7;
/**
 * Milliseconds of a round. The page is told of questions, not of calls that end at once. It loads
 * the list again at intervals, so a round with questions must contain several of them.
 */
const ROUND = { call: 700, elicit: 2_000 };
const WARM_UP = 2_500;
const USERS = 16;
const OPENINGS = 7;
const MAX_ROWS = 500;

const lacking = absence("browser");
if (lacking) {
  console.log(`SKIPPED: the console was not measured, because ${lacking}.`);
} else {
  await run(function* () {
    const browser = yield* useBrowser();
    const page = yield* until(browser.newPage());
    yield* until(measureCalls(page));
    yield* until(measureOpening(page));
  });
}

/** Runs the same load with the page open and closed in turn. */
async function measureCalls(page: Page): Promise<void> {
  const driver = new Driver();
  const server = await Server.start("parley-console");
  const work = async (work: Work, ms: number) => {
    const before = server.cpu;
    const { port } = server;
    const driven = await driver.run({ port, era: "modern", work, users: USERS, ms });
    return {
      cpu: (server.cpu - before) / driven.flows * 1e6,
      rate: driven.flows / driven.seconds,
    };
  };
  const show = async (open: boolean) => {
    await page.goto(open ? listOf(server) : "about:blank");
    if (open) await page.getByRole("status").getByText(/calls?$/).waitFor();
  };
  try {
    await enter(page, server);
    for (const kind of ["call", "elicit"] as const) {
      await show(false);
      await work(kind, WARM_UP);
      const all = { open: series(), closed: series() };
      for (let round = 0; round < ROUNDS; round++) {
        for (const isOpen of round % 2 === 0 ? [false, true] : [true, false]) {
          await show(isOpen);
          const { cpu, rate } = await work(kind, ROUND[kind]);
          const { cpus, rates } = isOpen ? all.open : all.closed;
          cpus.push(cpu);
          rates.push(rate);
        }
      }
      const { open, closed } = all;
      const [with_, without] = [spreadOf(open.cpus).value, spreadOf(closed.cpus).value];
      console.log(
        `  ${kind}: ${figure(with_)} µs of CPU with the page, ${figure(without)} without`,
      );
      const what = { call: "calls", elicit: "questions" }[kind];
      const aim = { least: 0.95 };
      const perCpu = ratio(closed.cpus, open.cpus);
      find(`console-${kind}`, `${what} per CPU second with the page open`, perCpu, "×", aim);
      const perSecond = ratio(open.rates, closed.rates);
      find(`console-${kind}-rate`, `${what} per second with the page open`, perSecond, "×", aim);
    }
  } finally {
    driver.stop();
    server.stop();
  }
}

/** Opens the page of three servers in turn. */
async function measureOpening(page: Page): Promise<void> {
  const servers: Server[] = [];
  try {
    for (const args of [["10"], ["10000"], ["1", "100000"]]) {
      servers.push(await Server.start("parley-console", ...args));
    }
    for (const server of servers) await enter(page, server);
    const [ten, many, long] = servers as [Server, Server, Server];
    // The log of the last server's only call.
    await page.goto(listOf(long));
    const call = await page.locator("a.call-row").first().getAttribute("href");
    const openings = [
      { url: listOf(ten), rows: "a.call-row", count: 10 },
      { url: listOf(many), rows: "a.call-row", count: 10 },
      { url: `${originOf(long)}/console${call}`, rows: ".event-row .text:not(:empty)", count: 10 },
    ].map((opening) => ({ ...opening, times: [] as number[], most: 0 }));
    for (let round = -1; round < OPENINGS; round++) {
      for (const opening of openings) {
        const { took, rows } = await open(page, opening);
        // The first round fills the browser's caches.
        if (round >= 0) opening.times.push(took);
        opening.most = Math.max(opening.most, rows);
      }
    }
    const [few, calls, events] = openings.map(({ times }) => times) as [
      number[],
      number[],
      number[],
    ];
    find("console-open", "the page opens with 10 calls", spreadOf(few), "ms");
    find("console-open-calls", "with 10 000 parked calls, of that", ratio(calls, few), "×", {
      most: 2,
    });
    find("console-open-events", "with a call of 100 000 events, of that", ratio(events, few), "×", {
      most: 2,
    });
    const most = Math.max(...openings.map(({ most }) => most));
    find("console-rows", "rows in the document", most, "", { most: MAX_ROWS });
  } finally {
    for (const server of servers) server.stop();
  }
}

/** Milliseconds from the start of the navigation until rows are shown, and all rows by then. */
async function open(
  page: Page,
  { url, rows, count }: { readonly url: string; readonly rows: string; readonly count: number },
): Promise<{ took: number; rows: number }> {
  await page.goto(url, { waitUntil: "commit" });
  const shown = await page.waitForFunction(
    ({ rows, count }) =>
      document.querySelectorAll(rows).length >= count && {
        took: performance.now(),
        rows: document.querySelectorAll(".row").length,
      },
    { rows, count },
  );
  return await shown.jsonValue() as { took: number; rows: number };
}

/** Exchanges the link for a token, which the tab keeps for each server. */
async function enter(page: Page, { link }: Server): Promise<void> {
  await page.goto(link);
  await page.getByRole("navigation", { name: "Console" }).waitFor();
}

function originOf({ port }: Server): string {
  return `http://127.0.0.1:${port}`;
}

function listOf(server: Server): string {
  return `${originOf(server)}/console#/calls`;
}

function series(): { readonly cpus: number[]; readonly rates: number[] } {
  return { cpus: [], rates: [] };
}
