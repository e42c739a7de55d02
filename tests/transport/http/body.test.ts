import assert from "node:assert/strict";
import { createManualClock } from "parley-mcp";
import { readBody } from "../../../src/transport/http/body.ts";
import { Deadlines } from "../../../src/lib/deadlines.ts";
import { describe, it } from "../../suite.ts";

const LIMIT = 100;
const TIME = 5_000;
const encoder = new TextEncoder();

function setUp() {
  const clock = createManualClock();
  const deadlines = new Deadlines(clock);
  const read = (request: Request) => readBody(request, LIMIT, TIME, deadlines);
  return { clock, deadlines, read };
}

/** A request whose body is written by hand. */
function fed(headers: Record<string, string> = {}) {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (its) => void (controller = its),
    cancel: () => void (cancelled = true),
  });
  const request = new Request("http://localhost/", {
    method: "POST",
    headers,
    body,
    duplex: "half",
  } as RequestInit);
  return {
    request,
    send: (text: string | Uint8Array) =>
      controller.enqueue(typeof text === "string" ? encoder.encode(text) : text),
    end: () => controller.close(),
    break: () => controller.error(new Error("reset")),
    get cancelled() {
      return cancelled;
    },
  };
}

describe("readBody()", () => {
  it("reads a body with a known length, and one without", async () => {
    for (const headers of [{ "content-length": "5" }, {}]) {
      const { read, deadlines } = setUp();
      const body = fed(headers);
      const reading = read(body.request);
      body.send("he");
      body.send("llo");
      body.end();
      assert.deepEqual(await reading, "hello");
      assert.equal(deadlines.size, 0);
    }
  });

  it("reads characters that are cut in two", async () => {
    const { read } = setUp();
    const body = fed();
    const bytes = encoder.encode("a€😀");
    for (const byte of bytes) body.send(Uint8Array.of(byte));
    body.end();
    assert.deepEqual(await read(body.request), "a€😀");
  });

  it("reads a missing body as an empty one", async () => {
    const { read } = setUp();
    const request = new Request("http://localhost/", { method: "POST" });
    assert.deepEqual(await read(request), "");
  });

  it("refuses a length over the limit, or an invalid one, without reading", async () => {
    for (const length of [`${LIMIT + 1}`, "1e9", "many", "NaN"]) {
      const { read, deadlines } = setUp();
      const body = fed({ "content-length": length });
      assert.deepEqual(await read(body.request), { why: "too_large" }, length);
      assert.equal(deadlines.size, 0);
    }
  });

  it("accepts a body of exactly the limit, and stops one byte later", async () => {
    const tooLarge = { why: "too_large" };
    for (const [bytes, expected] of [[LIMIT, "x".repeat(LIMIT)], [LIMIT + 1, tooLarge]] as const) {
      const { read, deadlines } = setUp();
      const body = fed();
      const reading = read(body.request);
      for (let i = 0; i < bytes; i++) body.send("x");
      if (expected !== tooLarge) body.end();
      assert.deepEqual(await reading, expected);
      assert.equal(body.cancelled, expected === tooLarge);
      assert.equal(deadlines.size, 0);
    }
  });

  it("gives up on a body that does not arrive in time", async () => {
    for (const headers of [{ "content-length": "5" }, {}]) {
      const { read, clock, deadlines } = setUp();
      const body = fed(headers);
      const reading = read(body.request);
      body.send("he");
      clock.advance(TIME - 1);
      assert.equal(deadlines.size, 1);
      clock.advance(1);
      assert.deepEqual(await reading, { why: "too_slow" });
      assert.equal(deadlines.size, 0);
      // Later chunks have no effect.
      if (!body.cancelled) body.break();
    }
  });

  it("notices a broken connection", async () => {
    for (const headers of [{ "content-length": "5" }, {}]) {
      const { read, deadlines } = setUp();
      const body = fed(headers);
      const reading = read(body.request);
      body.send("he");
      body.break();
      assert.deepEqual(await reading, { why: "broken" });
      assert.equal(deadlines.size, 0);
    }
  });
});
