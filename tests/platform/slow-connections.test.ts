/** Connections that never finish their request, on a runtime that has no timeout for them. */
import assert from "node:assert/strict";
import { createParley } from "parley-mcp";
import { listen } from "../../src/platform/listen.ts";
import type { ListenerNotice } from "../../src/platform/types.ts";
import { currentRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { ABLE, initialize } from "../support/legacy/client.ts";
import { Crowd, UNFINISHED } from "../support/crowd.ts";
import { TestClient, VERSION } from "../support/modern/client.ts";
import { ask } from "../support/tools.ts";
import { noticed } from "../support/turn.ts";
import { RawClient } from "./raw-client.ts";

/** Both ends are in this process, so each connection takes two descriptors. */
const MOST = 40;
const FEW = 15;
/** More than half of what may be idle, with some room for descriptors of other tests. */
const STREAMS = 40;
const MOST_BESIDES_STREAMS = 60;
const LISTEN = { notifications: {}, _meta: new TestClient(fetch).meta() };
const HALF_A_BODY = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" +
  "Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{";
const onDeno = it.when(currentRuntime() === "deno");

describe("slow connections on Deno", () => {
  for (
    const [kind, says] of [
      ["say nothing", ""],
      ["never finish their headers", UNFINISHED],
      ["stay after their body came too late", HALF_A_BODY],
    ] as const
  ) {
    onDeno(
      `are closed if too many of them ${kind}; a running call continues`,
      async () => {
        const parley = createParley({ serve: [ask], limits: { bodyTimeout: 1_000 } });
        const notices: ListenerNotice[] = [];
        const notice = (notice: ListenerNotice) => void notices.push(notice);
        const address = { port: 0, hostname: "127.0.0.1" };
        const listening = await listen(parley.fetch, { ...address, maxIdle: MOST, notice });
        const caller = await RawClient.connect(listening.port);
        caller.post(initialize({ capabilities: ABLE }));
        const [, id] = await caller.take(/mcp-session-id: (\S+)/i);
        await caller.take(/"serverInfo":\{.*?\}\}\}/);
        const session = { "mcp-session-id": id! };
        const params = { name: "ask", arguments: {} };
        caller.post({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, session);
        const [, question] = await caller.take(/"id":"(elicit_[^"]+)"/);

        const first = new Crowd(listening.port, FEW, says);
        if (says === HALF_A_BODY) await noticed(() => first.answered === FEW);
        const more = new Crowd(listening.port, MOST);
        // Some of the others may connect after the listener is open again, and stay.
        await noticed(() => first.gone === FEW);
        await noticed(() => notices.length > 0);
        const [interrupted] = notices;
        assert.ok(interrupted?.type === "interrupted");
        assert.match(
          String(interrupted.error),
          /Cannot keep idle connections open: \d+ file descriptors were opened, and the limit is 40/,
        );

        const answerer = await connected(listening.port);
        const result = { action: "accept", content: { number: 7 } };
        answerer.post({ jsonrpc: "2.0", id: question, result }, session);
        assert.equal(await answerer.status(), 202);
        await caller.take(/It is 7/);
        await parley.close();
        more.leave();
        caller.vanish();
        answerer.vanish();
        await listening.stop();
      },
    );
  }

  onDeno("do not include connections with an open stream", async () => {
    const parley = createParley({ serve: [ask] });
    const notices: ListenerNotice[] = [];
    let counts = 0;
    const listening = await listen(parley.fetch, {
      port: 0,
      hostname: "127.0.0.1",
      maxIdle: MOST_BESIDES_STREAMS,
      notice: (notice) => void notices.push(notice),
      busy: () => {
        counts++;
        return parley.counts.streams;
      },
    });
    const callers: RawClient[] = [];
    // Both ends of a stream are open here, and one of them is known to be busy.
    for (let streams = 0; streams < STREAMS; streams++) {
      const caller = await RawClient.connect(listening.port);
      callers.push(caller);
      caller.post({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: LISTEN }, {
        "mcp-protocol-version": VERSION,
        "mcp-method": "subscriptions/listen",
      });
      await caller.take(/text\/event-stream/);
    }
    assert.equal(parley.counts.streams, STREAMS);
    const before = counts;
    await noticed(() => counts > before + 1);
    assert.deepEqual(notices, []);

    // Idle connections count, whatever number of streams there is.
    const idle = new Crowd(listening.port, FEW);
    await noticed(() => idle.gone > 0);
    await noticed(() => notices.length > 0);
    assert.equal(parley.counts.streams, STREAMS, "streams go on");
    await parley.close();
    idle.leave();
    for (const caller of callers) caller.vanish();
    await listening.stop();
  });
});

/** Once the listener is open again. */
async function connected(port: number): Promise<RawClient> {
  for (;;) {
    try {
      return await RawClient.connect(port);
    } catch {
      // Refused.
    }
  }
}
