import assert from "node:assert/strict";
import type { Root } from "../../src/model/events.ts";
import { createMcpTool, testTool, ToolError } from "../../src/mod.ts";
import { describe, it } from "../suite.ts";
import { outcomeOf, useLive } from "../run/live.ts";

const listing = createMcpTool("listing").description("Lists roots.").execute(
  function* (_params, ctx) {
    try {
      return (yield* ctx.roots()).map(({ uri }) => uri).join();
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      return error.code;
    }
  },
);

describe("ctx.roots()", () => {
  it("returns the folders that the client has opened to servers", async () => {
    const roots: Root[] = [{ uri: "file:///a", name: "a" }, { uri: "file:///b" }];
    assert.equal((await testTool(listing, {}, { roots })).text, "file:///a,file:///b");
    assert.equal((await testTool(listing, {}, { roots: [] })).text, "");
  });

  it("throws a CapabilityError, and sends nothing, if the client has no roots", async () => {
    const run = await testTool(listing, {}, { client: { capabilities: {} } });
    assert.equal(run.text, "PARLEY_CAPABILITY");
    assert.equal(run.conversation.length, 0);
  });

  it("throws a ToolError if the client fails or sends an invalid answer", function* () {
    const live = yield* useLive();
    for (const response of [{ error: { code: -1, message: "no" } }, {}, { roots: 5 }]) {
      const session = live.open(listing);
      session.respond(session.openRequests()[0]!.id, response as { roots: Root[] });
      const outcome = yield* outcomeOf(session);
      assert.match(JSON.stringify(outcome), /PARLEY_TOOL/);
    }
    assert.deepEqual(live.faults, []);
  });
});
