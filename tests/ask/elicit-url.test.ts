import assert from "node:assert/strict";
import {
  CapabilityError,
  createMcpTool,
  ElicitationError,
  type ElicitRequest,
  type ElicitUrlConfig,
  testTool,
} from "../../src/mod.ts";
import { describe, it } from "../suite.ts";

/** Sends the person to a page and returns what they did. */
const visiting = (config: unknown) =>
  createMcpTool("visiting").description("Sends the person away.").execute(function* (_params, ctx) {
    const answer = yield* ctx.elicitUrl(config as ElicitUrlConfig);
    return answer.action;
  });

const page = { message: "Please pay.", url: "https://pay.example.com/42" };

describe("ctx.elicitUrl()", () => {
  it("returns whether the person agreed to open the page", async () => {
    for (const action of ["accept", "decline", "cancel"] as const) {
      assert.equal((await testTool(visiting(page), {}, { elicitUrl: action })).text, action);
    }
  });

  it("sends the address unchanged, with an id that the tool gets too", async () => {
    let id = "";
    const tool = createMcpTool("t").description("d").execute(function* (_params, ctx) {
      const one = yield* ctx.elicitUrl(page);
      const two = yield* ctx.elicitUrl({ ...page, elicitationId: "mine" });
      assert.notEqual(one.elicitationId, "");
      assert.equal(two.elicitationId, "mine");
      id = one.elicitationId;
    });
    const { events } = await testTool(tool, {}, { elicitUrl: "accept" });
    const requests = events.filter((event) => event.type === "elicit_request") as ElicitRequest[];
    assert.deepEqual(requests.map(({ params }) => params), [
      { mode: "url", ...page, elicitationId: id },
      { mode: "url", ...page, elicitationId: "mine" },
    ]);
  });

  it("accepts http and https addresses, as strings or URLs", async () => {
    for (const url of ["http://localhost:80/x?y=1#z", new URL("https://example.com")]) {
      const { events } = await testTool(visiting({ ...page, url }), {}, { elicitUrl: "accept" });
      const { params } = events[0] as ElicitRequest;
      assert.equal((params as { url: string }).url, new URL(url).href);
    }
  });

  it("refuses every other address, and a page without a message, before it asks", async () => {
    const wrong = [
      "javascript:alert(1)",
      "file:///etc/passwd",
      "ftp://x",
      "/pay",
      "",
      undefined,
      5,
    ];
    for (const config of [...wrong.map((url) => ({ ...page, url })), { url: page.url }]) {
      const { faults, conversation } = await testTool(visiting(config), {});
      assert.ok(faults[0] instanceof TypeError);
      assert.equal(conversation.length, 0);
    }
  });

  it("returns its own outcome when nobody answers in time", async () => {
    const tool = createMcpTool("t").description("d").execute(function* (_params, ctx) {
      const answer = yield* ctx.elicitUrl(page, { timeout: 1_000 });
      assert.notEqual(answer.elicitationId, "");
      return answer.action;
    });
    assert.equal((await testTool(tool, {}, { elicitUrl: "timeout" })).text, "timeout");
    assert.equal((await testTool(tool, {}, { elicitUrl: "accept" })).text, "accept");
  });

  it("requires a client that declares URL mode, whatever else it declares", async () => {
    const tool = createMcpTool("t").description("d").execute(function* (_params, ctx) {
      try {
        return (yield* ctx.elicitUrl(page)).action;
      } catch (error) {
        if (!(error instanceof CapabilityError)) throw error;
        return error.capability;
      }
    });
    for (
      const [elicitation, expected] of [
        [{ url: {} }, "accept"],
        [{ form: {}, url: {} }, "accept"],
        [{}, "elicitation.url"],
        [{ form: {} }, "elicitation.url"],
        [undefined, "elicitation.url"],
      ] as const
    ) {
      const client = { capabilities: { ...(elicitation && { elicitation }) } };
      const { text } = await testTool(tool, {}, { client, elicitUrl: "accept" });
      assert.equal(text, expected, JSON.stringify(elicitation));
    }
  });

  it("throws an ElicitationError if the client fails or sends an invalid answer", async () => {
    const tool = createMcpTool("t").description("d").execute(function* (_params, ctx) {
      try {
        yield* ctx.elicitUrl(page);
        return "";
      } catch (error) {
        if (!(error instanceof ElicitationError)) throw error;
        return error.code;
      }
    });
    const failure = { error: { code: -32603, message: "no browser" } };
    for (const answer of [failure, { action: "maybe" } as unknown as "accept"]) {
      const { text, conversation } = await testTool(tool, {}, { elicitUrl: answer });
      assert.equal(text, "PARLEY_ELICITATION");
      assert.equal(conversation.length, 1);
    }
  });

  it("can tell the client that the page has done its work", async () => {
    const tool = createMcpTool("t").description("d").execute(function* (_params, ctx) {
      const visit = yield* ctx.elicitUrl({ ...page, elicitationId: "mine" });
      yield* visit.complete();
    });
    const { events } = await testTool(tool, {}, { elicitUrl: "accept" });
    const [done] = events.filter((event) => event.type === "elicit_complete");
    assert.equal((done as { elicitationId: string }).elicitationId, "mine");
  });
});
