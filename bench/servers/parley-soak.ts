/** The server for the soak test. Prints its port, and then its figures once a second. */
import process from "node:process";
import { listen } from "../../src/platform/listen.ts";
import { createParley } from "../../src/mod.ts";
import { heapMeter } from "../kit/heap.ts";
import { serve } from "./tools.ts";

/** Times in milliseconds. They are short, so that leaks show within minutes. */
const GRACE = 2_000;
const TIME_TO_LIVE = 5_000;

let faults = 0;
const parley = createParley({
  serve,
  limits: {
    finishedTimeToLive: GRACE,
    waitingTimeToLive: TIME_TO_LIVE,
    clientSessionTimeToLive: TIME_TO_LIVE,
  },
  report: ({ what, error }) => {
    faults++;
    console.error(what, error);
  },
});
const { port } = await listen(parley.fetch, { port: 0, hostname: "127.0.0.1" });
console.log(port);

const heap = await heapMeter();
// Checks the soak test itself: a server that leaks something each second must not pass.
const leak = process.env.PARLEY_SOAK_LEAK ? [] as Uint8Array[] : undefined;

setInterval(() => {
  leak?.push(new Uint8Array(0), ...Array.from({ length: 20_000 }, () => new Uint8Array(8)));
  console.log(JSON.stringify({ heap: heap() / 1_024, faults, ...parley.counts }));
}, 1_000);
