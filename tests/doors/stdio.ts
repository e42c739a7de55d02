/** A client of either era on a channel of a server, with the interface of `Host`. */
import assert from "node:assert/strict";
import type { Parley } from "parley-mcp";
import type { Message } from "../support/exchange.ts";
import { VERSION } from "../support/modern/client.ts";
import type { Era, Host, HostOptions, Result } from "./host.ts";

export interface StdioHost extends Host {
  close(): Promise<void>;
}

export async function connectStdio(
  era: Era,
  parley: Parley,
  { capabilities = {}, name = "test client", answer }: HostOptions = {},
): Promise<StdioHost> {
  let input!: ReadableStreamDefaultController<Uint8Array>;
  const waiting = new Map<unknown, (message: Message) => void>();
  let isClosed = false;
  const send = (message: object) => {
    // A late answer of a client that has gone.
    if (isClosed) return;
    input.enqueue(new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`));
  };
  const respond = async ({ id, method, params }: Message) => {
    send({ id, result: await answer!({ method: method!, params }) });
  };
  let rest = "";
  const ended = parley.stdio({
    channel: {
      input: new ReadableStream({ start: (controller) => void (input = controller) }),
      write(bytes) {
        const lines = (rest + new TextDecoder().decode(bytes)).split("\n");
        rest = lines.pop()!;
        for (const line of lines) {
          const message: Message = JSON.parse(line);
          if (message.method === undefined) waiting.get(message.id)?.(message);
          else if (message.id !== undefined) void respond(message);
        }
        return Promise.resolve();
      },
    },
  });
  let lastId = 0;
  const exchange = (method: string, params: object): Promise<Message> => {
    const id = ++lastId;
    return new Promise((resolve) => {
      waiting.set(id, resolve);
      send({ id, method, params });
    });
  };
  const clientInfo = { name, version: "1.2.3" };
  if (era === "legacy") {
    const protocolVersion = "2025-11-25";
    await exchange("initialize", { protocolVersion, capabilities, clientInfo });
    send({ method: "notifications/initialized" });
  }
  let rounds = 0;
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  const request = async (method: string, params: object = {}): Promise<Message> => {
    if (era === "legacy") return await exchange(method, params);
    let message = await exchange(method, { ...params, _meta });
    while (message.result?.resultType === "input_required") {
      rounds++;
      const { inputRequests, requestState } = message.result;
      const inputResponses: Result = {};
      for (const [key, asked] of Object.entries<Result>(inputRequests)) {
        inputResponses[key] = await answer!(asked);
      }
      message = await exchange(method, { ...params, requestState, inputResponses, _meta });
    }
    return message;
  };
  return {
    request,
    async call(tool, args = {}) {
      const { result, error } = await request("tools/call", { name: tool, arguments: args });
      assert.ok(result, JSON.stringify(error));
      return result;
    },
    get rounds() {
      return rounds;
    },
    async close() {
      isClosed = true;
      input.close();
      await ended;
    },
  };
}
