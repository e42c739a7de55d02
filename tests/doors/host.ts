/** A client of either era that calls tools, and answers what it is asked as a test tells it to. */
import assert from "node:assert/strict";
import type { ParleyOptions } from "parley-mcp";
import type { Fetch, Message } from "../support/exchange.ts";
import { TestClient } from "../support/legacy/client.ts";
import { serving } from "../support/legacy/server.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { serving as servingModern } from "../support/modern/server.ts";
import type { WatchedServer } from "../support/server.ts";

export type Era = "legacy" | "modern";
export const ERAS: readonly Era[] = ["legacy", "modern"];

// deno-lint-ignore no-explicit-any
export type Result = any;

export interface HostOptions {
  readonly capabilities?: object;
  readonly name?: string;
  /** Only for stdio. Default: 1.2.3. */
  readonly version?: string;
  /** Answers a request of the server. Default: none is expected. */
  readonly answer?: (request: { method: string; params: Result }) => object | Promise<object>;
  readonly headers?: Record<string, string>;
  readonly url?: string;
}

export interface Host {
  call(name: string, args?: object): Promise<Result>;
  request(method: string, params?: object): Promise<Message>;
  /** How many times a request ended with `input_required`. */
  readonly rounds: number;
}

/** Runs a server for one test, whose messages are checked against the schema of the era. */
export function servingEra(
  era: Era,
  options: ParleyOptions,
  body: (server: WatchedServer<unknown>) => Promise<void>,
): Promise<void> {
  return era === "legacy" ? serving(options, body) : servingModern(options, body);
}

export async function connectHost(
  era: Era,
  fetch: Fetch,
  options: HostOptions = {},
): Promise<Host> {
  return era === "legacy" ? await legacyHost(fetch, options) : modernHost(fetch, options);
}

async function legacyHost(fetch: Fetch, options: HostOptions): Promise<Host> {
  const { capabilities = {}, answer = unexpected, version: _, ...others } = options;
  const client = await TestClient.connect(fetch, { capabilities, ...others });
  const request = async (method: string, params: object = {}): Promise<Message> => {
    const exchange = await client.start(method, params);
    for (let message = await exchange.message(); message; message = await exchange.message()) {
      if (message.id === exchange.id && message.method === undefined) return message;
      if (message.id === undefined) continue;
      const answered = await answer({ method: message.method!, params: message.params });
      const response = await client.answer(message, answered);
      assert.equal(response.status, 202, await response.text());
    }
    throw new Error("the stream ended without a response");
  };
  return { request, call: caller(request), rounds: 0 };
}

function modernHost(fetch: Fetch, options: HostOptions): Host {
  const { capabilities = {}, answer = unexpected, name, version: _, ...others } = options;
  const info = { "io.modelcontextprotocol/clientInfo": { name, version: "1.2.3" } };
  const client = new ModernClient(fetch, {
    capabilities,
    ...(name && { meta: info }),
    ...others,
  });
  let rounds = 0;
  const request = async (method: string, params: object = {}): Promise<Message> => {
    let message = await client.request(method, { ...params });
    while (message.result?.resultType === "input_required") {
      rounds++;
      const { inputRequests, requestState } = message.result;
      const inputResponses: Result = {};
      for (const [key, asked] of Object.entries<Result>(inputRequests)) {
        inputResponses[key] = await answer(asked);
      }
      message = await client.request(method, { ...params, requestState, inputResponses });
    }
    return message;
  };
  return {
    request,
    call: caller(request),
    get rounds() {
      return rounds;
    },
  };
}

function caller(request: Host["request"]): Host["call"] {
  return async (name, args = {}) => {
    const { result, error } = await request("tools/call", { name, arguments: args });
    assert.ok(result, JSON.stringify(error));
    return result;
  };
}

function unexpected({ method }: { method: string }): never {
  throw new Error(`the server sent ${method}`);
}

/** The ticket of a deferral. */
export function ticketOf(result: Result): string {
  assert.equal(result.structuredContent?.status, "waiting", JSON.stringify(result));
  assert.notEqual(result.isError, true);
  return result.structuredContent.ticket;
}

export function textOf(result: Result): string {
  return result.content.map(({ text = "" }) => text).join("\n");
}
