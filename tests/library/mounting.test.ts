import assert from "node:assert/strict";
import { type Operation, resource, until } from "effection";
import { Hono } from "hono";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createMcpHandler, createParley, type Parley, toNodeHandler } from "parley-mcp";
import { listen } from "../../src/platform/listen.ts";
import { describe, it } from "../suite.ts";
import { echo, stubborn } from "../transport/stdio/tools.ts";
import { planTrip } from "../support/multi-round-tool.ts";
import { until as turnsUntil } from "../support/turn.ts";
import { noticesLeaving, servesBothEras, takesBodies } from "./mounted-cases.ts";

type Mount = (parley: Parley) => Promise<{ port: number; stop(): Promise<void> }>;

const hostname = "127.0.0.1";

const mounts: [string, Mount][] = [
  ["Deno.serve or Bun.serve", ({ fetch }) => listen(fetch, { port: 0, hostname })],
  ["Hono", (parley) => {
    const app = new Hono();
    app.get("/", (c) => c.text("a site of its own"));
    app.all("/mcp", (c) => parley.fetch(c.req.raw));
    return listen(async (request) => await app.fetch(request), { port: 0, hostname });
  }],
  ["node:http", async (parley) => {
    const server = createServer(toNodeHandler(parley.fetch));
    await new Promise<void>((resolve) => server.listen(0, hostname, resolve));
    return {
      port: (server.address() as AddressInfo).port,
      async stop() {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  }],
];

function useMounted(mount: Mount): Operation<{ parley: Parley; address: string }> {
  return resource(function* (provide) {
    const faults: unknown[] = [];
    const report = ({ error }: { error: unknown }) => void faults.push(error);
    const parley = createParley({ serve: [echo, planTrip, stubborn], report });
    const { port, stop } = yield* until(mount(parley));
    try {
      yield* provide({ parley, address: `http://${hostname}:${port}/mcp` });
    } finally {
      yield* until(parley.close());
      yield* until(stop());
      assert.deepEqual(faults, []);
    }
  });
}

/** Data from a socket arrives with a delay. */
async function eventually(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turnsUntil(isSo).catch(() => {});
}

for (const [name, mount] of mounts) {
  describe(`createParley() on ${name}`, () => {
    it("serves both eras", function* () {
      const { address } = yield* useMounted(mount);
      yield* until(servesBothEras(address));
    });

    it("notices when a client leaves", function* () {
      const { address, parley } = yield* useMounted(mount);
      yield* until(noticesLeaving(address, () => eventually(() => parley.counts.live === 0)));
    });

    it("accepts bodies up to the limit", function* () {
      const { address } = yield* useMounted(mount);
      yield* until(takesBodies(address));
    });

    it("ends every stream when it is closed", function* () {
      const { address, parley } = yield* useMounted(mount);
      const left = noticesLeaving(address, async () => {}).catch(() => {});
      yield* until(eventually(() => parley.counts.live === 1));
      yield* until(parley.close());
      yield* until(left);
      assert.deepEqual([parley.counts.live, parley.counts.streams], [0, 0]);
    });
  });
}

describe("createMcpHandler()", () => {
  it("is a handler with fetch() and close() only", async () => {
    const handler = createMcpHandler({ serve: [echo] });
    assert.deepEqual(Object.keys(handler).sort(), ["close", "fetch"]);
    const response = await handler.fetch(new Request("http://localhost/healthz"));
    assert.equal(response.status, 200);
    await handler.close();
  });
});

describe("toNodeHandler()", () => {
  it("refuses an invalid address, and survives it", function* () {
    const { address } = yield* useMounted(mounts[2]![1]);
    const { port } = new URL(address);
    const { connect } = yield* until(import("node:net"));
    for (const line of ["GET http://[::: HTTP/1.1", "OPTIONS * HTTP/1.1", "GET /%zz HTTP/1.1"]) {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      socket.end(`${line}\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`);
      socket.resume();
      yield* until(new Promise((resolve) => socket.once("close", resolve)));
    }
    yield* until(takesBodies(address));
  });
});
