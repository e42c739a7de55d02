import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { until as wait } from "effection";
import { createMcpResource, createMcpTool } from "parley-mcp";
import { LEGACY_VERSIONS } from "../../../src/wire/versions.ts";
import { describe, it } from "../../suite.ts";
import { Exchange, type Message } from "../../support/exchange.ts";
import { ABLE, initialize, TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";
import { echo, handTool } from "../../support/tools.ts";
import { until } from "../../support/turn.ts";

const version = "2025-03-26";
const request = (id: number, method: string, params?: object) => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params && { params }),
});
const call = (id: number, name: string, args: object = {}) =>
  request(id, "tools/call", { name, arguments: args });
const note = { jsonrpc: "2.0", method: "notifications/progress", params: {} };

describe("a batch", () => {
  it("is refused in every revision but 2025-03-26, and there if it is empty", () =>
    serving({ serve: [echo] }, async ({ fetch }) => {
      for (const version of LEGACY_VERSIONS) {
        const client = await TestClient.connect(fetch, { version });
        const { status } = await client.post([request(1, "ping")]);
        assert.equal(status, version === "2025-03-26" ? 200 : 400, version);
        assert.equal((await client.post([])).status, 400);
      }
      assert.equal((await new TestClient(fetch).post([initialize()])).status, 400);
    }));

  it("of requests that finish at once is answered with one JSON array", () =>
    serving({ serve: [echo] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { version });
      const response = await client.post([
        request(1, "ping"),
        note,
        call(2, "echo", { text: "hi" }),
        request(3, "nothing"),
        request(4, "tools/list"),
        { jsonrpc: "2.0", id: 5, method: 5 },
        request(6, "initialize"),
      ]);
      assert.equal(response.headers.get("content-type"), "application/json");
      const answers: Message[] = await response.json();
      assert.deepEqual(answers.map(({ id, error }) => [id, error?.code]).sort(), [
        [1, undefined],
        [2, undefined],
        [3, -32601],
        [4, undefined],
        [5, -32600],
        [6, -32600],
      ]);
    }));

  it("of notifications and answers only is accepted, or refused as a whole", () =>
    serving({ serve: [echo] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { version });
      const unasked = { jsonrpc: "2.0", id: "x", result: {} };
      assert.equal((await client.post([note, note])).status, 202);
      for (const bad of [[note, unasked], [5], [null], [[request(1, "ping")]]]) {
        assert.equal((await client.post(bad)).status, 400, JSON.stringify(bad));
      }
      // With a request among them, that is answered.
      const answers = await (await client.post([unasked, 5, request(1, "ping")])).json();
      assert.deepEqual(answers, [{ jsonrpc: "2.0", id: 1, result: {} }]);
    }));

  it("with calls that take time gets one stream, decided once, that can be resumed", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [echo, tool] }, async ({ fetch, clock }) => {
      const client = await TestClient.connect(fetch, { version, capabilities: ABLE });
      const posting = client.post([
        request(1, "ping"),
        call(2, "hand"),
        call(3, "hand"),
        call(4, "echo", { text: "hi" }),
      ]);
      await until(() => runs.length === 2);
      clock.advance(100);
      const stream = new Exchange(await posting);
      assert.equal(stream.isStream, true);
      assert.deepEqual((await stream.message())?.id, 1);
      runs[0]!.log("a");
      runs[1]!.log("b");
      const heard = [await stream.message(), await stream.message(), await stream.message()];
      assert.deepEqual(
        heard.map((message) => message?.params?.data ?? message?.id).sort(),
        [4, "a", "b"],
      );
      await stream.leave();
      runs[0]!.finish("first");
      // One of the two is forgotten before the other ends.
      clock.advance(60_000);
      runs[1]!.finish("second");
      const resumed = await client.listen(stream.lastEventId);
      assert.deepEqual((await resumed.rest()).map(({ id }) => id), [2, 3]);
    });
  });

  it("with one cancelled call answers the others", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { version });
      const posting = client.post([call(1, "hand"), call(2, "hand"), call(3, "hand")]);
      await until(() => runs.length === 3);
      await client.notify("notifications/cancelled", { requestId: 2 });
      runs[0]!.finish("one");
      runs[2]!.finish("three");
      const answers: Message[] = await (await posting).json();
      assert.deepEqual(answers.map(({ id }) => id), [1, 3]);
    });
  });

  it("with more calls than one client may have is answered up to that limit", async () => {
    const { tool, runs } = handTool();
    const limits = { maxCallsPerClientSession: 2 };
    await serving({ serve: [tool], limits }, async ({ fetch, clock }) => {
      const client = await TestClient.connect(fetch, { version });
      const posting = client.post([1, 2, 3].map((id) => call(id, "hand")));
      await until(() => runs.length === 2);
      clock.advance(100);
      const stream = new Exchange(await posting);
      const refused = await stream.message();
      assert.equal(refused?.id, 3);
      assert.match(refused?.error.message, /already running/);
      runs.forEach((run) => run.finish());
      assert.deepEqual((await stream.rest()).map(({ id }) => id), [1, 2]);
    });
  });

  it("of more than 100 messages is refused, and nothing in it is executed", async () => {
    const { tool, runs } = handTool();
    await serving({ serve: [tool] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { version });
      const response = await client.post(
        Array.from({ length: 101 }, (_, i) => i === 0 ? call(i, "hand") : request(i, "ping")),
      );
      assert.equal(response.status, 400);
      assert.equal(
        (await response.json()).error.message,
        "Cannot accept the batch: it has 101 messages; send at most 100 at once",
      );
      assert.equal(runs.length, 0);
      const full = await client.post(Array.from({ length: 100 }, (_, i) => request(i, "ping")));
      assert.equal((await full.json()).length, 100);
    });
  });

  it("is answered up to a length; later requests are not executed, and get an error", async () => {
    let lookedUp = 0;
    const listed = createMcpResource("note").uri("note://{name}").lists(function* () {
      lookedUp++;
      return [{ uri: "note://one", name: "x".repeat(4_000) }];
    }).read(function* () {
      return "";
    });
    const limits = { maxBatchAnswer: 10_000 };
    await serving({ serve: [listed, echo], limits }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { version });
      const requests = Array.from({ length: 50 }, (_, i) => request(i, "resources/list"));
      const response = await client.post([...requests, call(50, "echo", { text: "still run" })]);
      const text = await response.text();
      const answers: Message[] = JSON.parse(text);
      assert.deepEqual(answers.map(({ id }) => id), Array.from({ length: 51 }, (_, i) => i));
      assert.deepEqual(answers.filter(({ result }) => result).map(({ id }) => id), [0, 1, 2, 50]);
      assert.equal(lookedUp, 3);
      assert.deepEqual(answers[3]!.error, {
        code: -32000,
        message:
          "Cannot answer in this batch: its answers are longer than 10000 characters; send the request on its own",
      });
      assert.ok(text.length < 25_000, `${text.length} characters`);
      // Sent alone, it is answered.
      assert.ok((await client.request("resources/list")).result);
    });
  });

  it("whose lists take time is answered up to that length as well", async () => {
    const late = Promise.withResolvers<void>();
    const listed = createMcpResource("note").uri("note://{name}").lists(function* () {
      yield* wait(late.promise);
      return [{ uri: "note://one", name: "x".repeat(4_000) }];
    }).read(function* () {
      return "";
    });
    await serving({ serve: [listed], limits: { maxBatchAnswer: 10_000 } }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { version });
      const posting = client.post(
        Array.from({ length: 10 }, (_, i) => request(i, "resources/list")),
      );
      late.resolve();
      const answers: Message[] = await (await posting).json();
      assert.equal(answers.filter(({ result }) => result).length, 3);
      assert.equal(answers.filter(({ error }) => error?.code === -32000).length, 7);
    });
  });

  it("with long results is a stream, one result after another", async () => {
    const long = createMcpTool("long").description("Returns much").execute(function* () {
      return "x".repeat(1_100_000);
    });
    await serving({ serve: [long], limits: { maxBatchAnswer: 1_500_000 } }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { version });
      const response = await client.post([1, 2, 3].map((id) => call(id, "long")));
      assert.equal(response.headers.get("content-type"), "text/event-stream");
      const chunks: string[] = [];
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        chunks.push(chunk);
      }
      assert.ok(chunks.every(({ length }) => length < 1_500_000));
      assert.deepEqual(chunks.join("").match(/"id":\d/g), ['"id":1', '"id":2', '"id":3']);
    });
  });

  const wordy = createMcpTool("wordy").description("x".repeat(30_000)).execute(function* () {});
  const lists = Array.from({ length: 100 }, (_, i) => request(i, "tools/list"));

  it("of many lists comes in chunks that are neither small nor large", () =>
    serving({ serve: [wordy] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { version });
      const response = await client.post(lists);
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body!) chunks.push(chunk);
      assert.ok(chunks.slice(0, -1).every(({ length }) => length >= 65_536 && length < 100_000));
      const answers: Message[] = JSON.parse(Buffer.concat(chunks).toString());
      assert.deepEqual(answers.map(({ id }) => id), lists.map(({ id }) => id));
    }));

  it("of many lists is built only as its reader takes it", () =>
    serving({ serve: [wordy] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { version });
      const reader = (await client.post(lists)).body!.getReader();
      const { value } = await reader.read();
      assert.ok(value!.length < 100_000, `${value!.length} bytes`);
      await reader.cancel();
    }));

  it("can be left in the middle of its response", () =>
    serving({ serve: [wordy] }, async ({ fetch }) => {
      const client = await TestClient.connect(fetch, { version });
      const response = await client.post(lists);
      const reader = response.body!.getReader();
      await reader.read();
      await reader.cancel();
      assert.deepEqual((await client.request("ping")).result, {});
    }));
});
