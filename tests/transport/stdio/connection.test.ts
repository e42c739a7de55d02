import assert from "node:assert/strict";
import type { Eras } from "../../../src/server/eras.ts";
import type { ChannelReply } from "../../../src/server/reply.ts";
import { Handler } from "../../../src/transport/http/handler.ts";
import { Connection } from "../../../src/transport/stdio/connection.ts";
import { describe, it } from "../../suite.ts";
import { turn } from "../../support/turn.ts";

describe("Connection", () => {
  it("answers with an error, and reports it, when a reply cannot be made", async () => {
    const reports: unknown[] = [];
    const handler = new Handler({ report: ({ error }) => reports.push(error) });
    const failure = new Error("the store is gone");
    const reply: ChannelReply = {
      type: "later",
      ready: Promise.reject(failure),
      reply: () => assert.fail("there is no reply"),
    };
    // Stands for both eras: every message leads to the reply that fails.
    const eras = { connect: () => ({ receive: () => reply, end() {} }) } as unknown as Eras;
    const connection = new Connection(handler.core, eras, () => {});
    connection.receive(JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/list" }));
    await turn();
    assert.deepEqual(JSON.parse(connection.read()), {
      jsonrpc: "2.0",
      id: 7,
      error: {
        code: -32603,
        message: "Cannot answer: an internal error occurred; see the server's log",
      },
    });
    assert.deepEqual(reports, [failure]);
    await connection.close("the test is over");
    await handler.close();
  });
});
