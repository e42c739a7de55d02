/** What a client does beside its calls: the stream of a session, and requests that are sent again. */
import assert from "node:assert/strict";
import { type Operation, scoped, spawn, withResolvers } from "effection";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ClientError } from "../../src/client/client-error.ts";
import { connect } from "../../src/client/connect.ts";
import { LegacyServer } from "../../src/client/legacy.ts";
import { ModernServer } from "../../src/client/modern.ts";
import type { Person, Question } from "../../src/client/person.ts";
import { currentRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { useHttp } from "../support/http-server.ts";

const ME = { name: "test", version: "1" };
const TOOL = { name: "ask", inputSchema: { type: "object" } };

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly result?: unknown;
}

/** Answers each message of a client. Requests are listed as `METHOD message`. */
function* useFake(
  answer: (message: Message, response: ServerResponse, request: IncomingMessage) => void,
): Operation<{ url: string; seen: string[] }> {
  const seen: string[] = [];
  const url = yield* useHttp(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const message: Message = text === "" ? {} : JSON.parse(text);
    seen.push(`${request.method} ${message.method ?? (message.id === undefined ? "" : "answer")}`);
    answer(message, response, request);
  });
  return { url, seen };
}

function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, {
    "content-type": "application/json",
    "mcp-session-id": "s1",
    // Deno itself repeats a request if a connection breaks that was used before.
    connection: "close",
  });
  response.end(JSON.stringify({ jsonrpc: "2.0", ...body }));
}

function person(asked: Question[]): Person {
  return {
    *answer(question) {
      asked.push(question);
      return { action: "accept", content: { name: "Ann" } };
    },
    progress() {},
    log() {},
    done() {},
  };
}

/** A server that asks on the stream of the session, and answers the call then. */
function* useAskingServer(open: (response: ServerResponse) => void) {
  let session: ServerResponse | undefined;
  let isStream = false;
  let calling: ServerResponse | undefined;
  const left = withResolvers<void>();
  const fake = yield* useFake((message, response, request) => {
    if (request.method === "GET") {
      session = response;
      response.on("close", () => left.resolve());
      open(response);
      isStream = response.statusCode === 200;
      return;
    }
    if (message.method === "initialize") {
      return json(response, { id: message.id!, result: { protocolVersion: "2025-11-25" } });
    }
    if (message.method === "tools/call") {
      calling = response;
      const form = { message: "Who?", requestedSchema: { type: "object", properties: {} } };
      const asking = { jsonrpc: "2.0", id: "q1", method: "elicitation/create", params: form };
      if (!isStream) return json(response, { id: message.id!, result: { content: [] } });
      return void session!.write(`data: ${JSON.stringify(asking)}\n\n`);
    }
    response.writeHead(202).end();
    if (message.id === "q1") {
      json(calling!, { id: 2, result: { content: [], asked: message.result } });
    }
  });
  return { ...fake, left: left.operation };
}

describe("LegacyServer.call()", () => {
  it("answers a question on the stream of the session, and closes the stream", function* () {
    const { url, seen, left } = yield* useAskingServer((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": open\n\n");
    });
    const asked: Question[] = [];
    const server = new LegacyServer({ url, headers: {} });
    yield* server.initialize(ME);
    const result = yield* server.call(TOOL, {}, person(asked));
    assert.deepEqual(asked.map(({ type }) => type), ["form"]);
    const { asked: answer } = result as unknown as { asked: unknown };
    assert.deepEqual(answer, { action: "accept", content: { name: "Ann" } });
    // The stream is open before the call begins: a server may drop what it cannot send.
    assert.deepEqual(seen.slice(2), ["GET ", "POST tools/call", "POST answer"]);
    yield* left;
  });

  it("needs no such stream", function* () {
    for (const status of [405, 404, 500]) {
      const { url } = yield* useAskingServer((response) => response.writeHead(status).end());
      const server = new LegacyServer({ url, headers: {} });
      yield* server.initialize(ME);
      const { content } = yield* server.call(TOOL, {}, person([]));
      assert.deepEqual(content, []);
    }
  });

  it("closes the stream when the call is cancelled", function* () {
    const opened = withResolvers<void>();
    const { url, left } = yield* useAskingServer((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": open\n\n");
      opened.resolve();
    });
    const server = new LegacyServer({ url, headers: {} });
    yield* server.initialize(ME);
    const never: Person = {
      ...person([]),
      *answer() {
        return yield* withResolvers<never>().operation;
      },
    };
    const task = yield* spawn(() => server.call(TOOL, {}, never));
    yield* opened.operation;
    yield* task.halt();
    yield* left;
  });
});

describe("connect()", () => {
  const discovered = { supportedVersions: ["2026-07-28"] };

  it("asks again if a server refuses the revision that it supports", function* () {
    let refusals = 0;
    const data = { supported: ["2026-07-28"], requested: "2026-07-28" };
    const { url, seen } = yield* useFake(({ id }, response) => {
      if (refusals++ > 0) return json(response, { id: id!, result: discovered });
      json(response, { id: id!, error: { code: -32022, message: "no", data } }, 400);
    });
    assert.ok((yield* connect({ url, headers: {} }, ME)) instanceof ModernServer);
    assert.deepEqual(seen, ["POST server/discover", "POST server/discover"]);
  });

  it("asks a server that refuses for ever only twice", function* () {
    const data = { supported: ["2026-07-28"], requested: "2026-07-28" };
    const { url, seen } = yield* useFake(({ id }, response) =>
      json(response, { id: id!, error: { code: -32022, message: "no", data } }, 400)
    );
    yield* fails(connect({ url, headers: {} }, ME));
    assert.deepEqual(seen, ["POST server/discover", "POST server/discover", "POST initialize"]);
  });

  it("survives one broken connection, but never calls a tool twice", function* () {
    let broken = false;
    const { url, seen } = yield* useFake(({ id, method }, response, request) => {
      if (!broken || method === "tools/call") {
        broken = true;
        return void request.socket.destroy();
      }
      json(response, { id: id!, result: discovered });
    });
    const server = yield* connect({ url, headers: {} }, ME);
    yield* fails(server.call(TOOL, {}, person([])));
    assert.deepEqual(seen, ["POST server/discover", "POST server/discover", "POST tools/call"]);
  });
});

describe("send()", () => {
  it.when(currentRuntime() === "bun")("calls a tool on a new connection", function* () {
    const ports: { [method: string]: number | undefined } = {};
    const { url } = yield* useFake(({ id, method }, response, request) => {
      ports[method!] = request.socket.remotePort;
      response.setHeader("content-type", "application/json");
      const result = { tools: [], content: [], supportedVersions: ["2026-07-28"] };
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    const server = yield* connect({ url, headers: {} }, ME);
    yield* server.tools();
    yield* server.call(TOOL, {}, person([]));
    assert.notEqual(ports["tools/call"], undefined);
    assert.notEqual(ports["tools/call"], ports["tools/list"]);
    assert.equal(ports["tools/list"], ports["server/discover"]);
  });
});

function* fails(operation: Operation<unknown>): Operation<void> {
  try {
    yield* scoped(() => operation);
  } catch (error) {
    assert.ok(error instanceof ClientError, String(error));
    return;
  }
  assert.fail("It did not fail");
}
