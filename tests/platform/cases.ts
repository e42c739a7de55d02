/** What every way of serving must be able to do. */
import assert from "node:assert/strict";
import { type AddressInfo, createServer } from "node:net";
import { createMcpTool, createParley, type Parley, type ParleyOptions } from "parley-mcp";
import type { Listen, Listening } from "../../src/platform/types.ts";
import { it } from "../suite.ts";
import { ABLE, initialize } from "../support/legacy/client.ts";
import { ask, echo } from "../support/tools.ts";
import { noticed } from "../support/turn.ts";
import { RawClient } from "./raw-client.ts";

const PING = { jsonrpc: "2.0", id: 1, method: "ping" };
const NOTHING = { live: 0, finished: 0, streams: 0, clientSessions: 0 };

interface Served {
  readonly parley: Parley;
  readonly listening: Listening;
  connect(): Promise<RawClient>;
  /** A client that has a session, and the header that names it. */
  welcome(): Promise<{ client: RawClient; session: Record<string, string> }>;
}

async function served(
  listen: Listen,
  options: ParleyOptions,
  body: (served: Served) => Promise<void>,
): Promise<void> {
  const parley = createParley(options);
  const listening = await listen(parley.fetch, { port: 0, hostname: "127.0.0.1" });
  const clients: RawClient[] = [];
  const connect = async () => {
    const client = await RawClient.connect(listening.port);
    clients.push(client);
    return client;
  };
  try {
    await body({
      parley,
      listening,
      connect,
      async welcome() {
        const client = await connect();
        client.post(initialize({ capabilities: ABLE }));
        const [, id] = await client.take(/mcp-session-id: (\S+)/i);
        await client.take(/"serverInfo":\{.*?\}\}\}/);
        return { client, session: { "mcp-session-id": id! } };
      },
    });
  } finally {
    await parley.close();
    for (const client of clients) client.vanish();
    await listening.stop();
  }
  assert.deepEqual(parley.counts, NOTHING);
}

/** Sends progress without end, as fast as it is read. */
const endless = createMcpTool("endless").description("Never stops talking")
  .execute(function* (_params, ctx) {
    for (;;) {
      yield* ctx.log("info", "x".repeat(100_000));
      yield* ctx.sleep(0);
    }
  });

const call = (name: string, args: object = {}) => ({
  ...PING,
  method: "tools/call",
  params: { name, arguments: args },
});

export function hostCases(listen: Listen): void {
  it("listens on a free port, reports it, and serves", () =>
    served(listen, { serve: [echo] }, async ({ listening, welcome }) => {
      assert.ok(listening.port > 0);
      assert.equal(listening.hostname, "127.0.0.1");
      const { client, session } = await welcome();
      // Several requests on one connection.
      for (let i = 0; i < 3; i++) {
        client.post(call("echo", { text: `hello ${i}` }), session);
        assert.equal(await client.status(), 200);
        await client.take(new RegExp(`hello ${i}`));
      }
    }));

  it("refuses a port on which somebody else listens", () =>
    served(listen, {}, async ({ parley }) => {
      const other = createServer();
      await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
      const { port } = other.address() as AddressInfo;
      await assert.rejects(listen(parley.fetch, { port, hostname: "127.0.0.1" }));
      await new Promise<void>((resolve) => other.close(() => resolve()));
    }));

  it("sends a stream chunk by chunk, and its headers at once", () =>
    served(listen, { serve: [ask] }, async ({ welcome, connect }) => {
      const { session } = await welcome();
      const [caller, answerer] = [await connect(), await connect()];
      caller.post(call("ask"), session);
      assert.equal(await caller.status(), 200);
      await caller.take(/text\/event-stream/);
      const [, id] = await caller.take(/"id":"(elicit_[^"]+)"/);
      const result = { action: "accept", content: { number: 7 } };
      answerer.post({ jsonrpc: "2.0", id, result } as object, session);
      assert.equal(await answerer.status(), 202);
      await caller.take(/It is 7/);
    }));

  it("notices when a client leaves: while it waits, on a stream, on the notification stream", () =>
    served(listen, { serve: [ask] }, async ({ parley, welcome, connect }) => {
      const { session } = await welcome();
      const [caller, listener] = [await connect(), await connect()];
      caller.post(call("ask"), session);
      await caller.take(/elicit_/);
      listener.sendHead({ ...session, accept: "text/event-stream" }, "GET");
      await listener.take(/id: 0\.0/);
      assert.equal(parley.counts.streams, 2);
      caller.vanish();
      listener.vanish();
      await noticed(() => parley.counts.streams === 0);
      assert.equal(parley.counts.live, 1);
    }));

  it("answers 413 to a body that is too large, however it is sent, and closes the connection", () =>
    served(listen, { limits: { maxBody: 1_000 } }, async ({ connect, welcome }) => {
      const announced = await connect();
      announced.sendHead({ "content-length": 10_000_000 });
      assert.equal(await announced.status(), 413);
      await announced.take(/connection: close/i);
      const chunked = await connect();
      chunked.sendHead({ "transfer-encoding": "chunked" });
      for (let i = 0; i < 20; i++) chunked.send(`64\r\n${"x".repeat(100)}\r\n`);
      assert.equal(await chunked.status(), 413);
      await chunked.take(/connection: close/i);
      await welcome();
    }));

  it("answers 408 to a body that does not arrive, and closes the connection", () =>
    served(listen, { limits: { bodyTimeout: 30 } }, async ({ connect, welcome }) => {
      const announced = await connect();
      announced.sendHead({ "content-length": 100 });
      announced.send('{"jsonrpc"');
      assert.equal(await announced.status(), 408);
      await announced.take(/connection: close/i);
      const chunked = await connect();
      chunked.sendHead({ "transfer-encoding": "chunked" });
      chunked.send("5\r\nhello\r\n");
      assert.equal(await chunked.status(), 408);
      await chunked.take(/connection: close/i);
      await welcome();
    }));

  it("survives clients that send garbage or disconnect in the middle of a message", () =>
    served(listen, { serve: [ask] }, async ({ connect, parley, welcome }) => {
      const { session } = await welcome();
      for (
        const text of ["\r\n\r\n", "GET", "NONSENSE / HTTP/9\r\n\r\n", "\u0000\u0001", "POST /mcp"]
      ) {
        const client = await connect();
        client.send(text);
        client.vanish();
      }
      const message = JSON.stringify(call("ask"));
      for (let length = 0; length < message.length; length += 10) {
        const client = await connect();
        client.sendHead({ ...session, "content-length": message.length });
        client.send(message.slice(0, length));
        client.vanish();
      }
      const { client } = await welcome();
      client.post(PING, session);
      assert.equal(await client.status(), 200);
      assert.equal(parley.counts.live, 0);
    }));

  it("disconnects a reader that stalls, and buffers no more than fits", () =>
    served(listen, { serve: [endless], limits: { stallTimeout: 100 } }, async (served) => {
      const { parley, welcome, connect } = served;
      const { session } = await welcome();
      const stalled = await connect();
      stalled.post(call("endless"), session);
      await stalled.take(/text\/event-stream/);
      stalled.stall();
      await noticed(() => parley.counts.streams === 0);
      assert.equal(parley.counts.live, 1);
    }));

  it("stops once running requests have ended, and accepts nothing new", () =>
    served(listen, { serve: [ask] }, async ({ parley, listening, welcome, connect }) => {
      const { session } = await welcome();
      const caller = await connect();
      caller.post(call("ask"), session);
      await caller.take(/elicit_/);
      await parley.close();
      // It was told how its call ended before the connection was closed.
      await caller.take(/shutting down/);
      await listening.stop();
      await assert.rejects(RawClient.connect(listening.port));
    }));
}
