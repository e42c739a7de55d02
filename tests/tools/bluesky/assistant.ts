/** An assistant with an official client, and with given capabilities. */
import * as v2 from "@modelcontextprotocol/client";
import { StdioClientTransport as V2Stdio } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { type Operation, resource, until } from "effection";

/** The capabilities of a client. */
export const CLIENTS = {
  url: { elicitation: { form: {}, url: {} } },
  pages: { elicitation: { url: {} } },
  form: { elicitation: { form: {} } },
  nothing: {},
} as const;

export interface Question {
  readonly mode: "form" | "url";
  readonly message: string;
  readonly url?: string;
  readonly elicitationId?: string;
  readonly requestedSchema?: { readonly properties: { readonly [field: string]: unknown } };
}

export interface Answer {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: { [field: string]: string };
}

export interface Result {
  readonly text: string;
  readonly isError: boolean;
  // deno-lint-ignore no-explicit-any
  readonly data: any;
}

export interface Assistant {
  readonly version: string | undefined;
  readonly asked: Question[];
  /** Elicitations that the server reported as done. */
  readonly completed: string[];
  /** What the person does; a test sets it before it calls. */
  answer: (question: Question) => Answer | Promise<Answer>;
  call(name: string, args?: object, signal?: AbortSignal): Promise<Result>;
  close(): Promise<void>;
}

/** The address of a server, or the command that starts it. */
export type Address = { readonly url: string; readonly headers?: Record<string, string> } | {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string>;
};

export type Era = "legacy" | "modern";

export function useAssistant(
  address: Address,
  era: Era,
  can: keyof typeof CLIENTS,
): Operation<Assistant> {
  return resource(function* (provide) {
    const connecting = era === "legacy" ? connectLegacy(address, can) : connectModern(address, can);
    const assistant = yield* until(connecting);
    try {
      yield* provide(assistant);
    } finally {
      yield* until(assistant.close());
    }
  });
}

const INFO = { name: "Test Assistant", version: "1.0.0" };

/** What both eras have in common. */
function attended() {
  const state = {
    asked: [] as Question[],
    completed: [] as string[],
    answer: (question: Question): Answer | Promise<Answer> => {
      throw new Error(`Nobody expected a question: ${JSON.stringify(question)}`);
    },
  };
  const ask = async ({ params }: { params: object }) => {
    const question = { mode: "form", ...params } as Question;
    state.asked.push(question);
    return await state.answer(question);
  };
  return { state, ask };
}

async function connectLegacy(address: Address, can: keyof typeof CLIENTS): Promise<Assistant> {
  const { state, ask } = attended();
  const client = new Client(INFO, { capabilities: CLIENTS[can] });
  if (can !== "nothing") client.setRequestHandler(ElicitRequestSchema, ask);
  client.setNotificationHandler(
    ElicitationCompleteNotificationSchema,
    ({ params }: { params: { elicitationId: string } }) =>
      void state.completed.push(params.elicitationId),
  );
  const transport = "url" in address
    ? new StreamableHTTPClientTransport(new URL(address.url), {
      requestInit: { headers: address.headers ?? {} },
    })
    : new StdioClientTransport({ ...address, args: [...address.args], stderr: "inherit" });
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return Object.assign(state, {
    version: "2025-11-25",
    call: async (name: string, args: object = {}, signal?: AbortSignal) =>
      plain(
        await client.callTool(
          { name, arguments: args as Record<string, unknown> },
          CallToolResultSchema,
          { timeout: 100_000, ...(signal && { signal }) },
        ),
      ),
    async close() {
      if ("terminateSession" in transport) await transport.terminateSession();
      await client.close();
    },
  });
}

async function connectModern(address: Address, can: keyof typeof CLIENTS): Promise<Assistant> {
  const { state, ask } = attended();
  const client = new v2.Client(INFO, {
    capabilities: CLIENTS[can],
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  });
  // deno-lint-ignore no-explicit-any
  if (can !== "nothing") client.setRequestHandler("elicitation/create", ask as any);
  const transport = "url" in address
    ? new v2.StreamableHTTPClientTransport(new URL(address.url), {
      requestInit: { headers: address.headers ?? {} },
    })
    : new V2Stdio({ ...address, args: [...address.args], stderr: "inherit" });
  await client.connect(transport);
  return Object.assign(state, {
    version: client.getNegotiatedProtocolVersion(),
    call: async (name: string, args: object = {}, signal?: AbortSignal) =>
      plain(
        await client.callTool(
          { name, arguments: args as Record<string, unknown> },
          { timeout: 100_000, ...(signal && { signal }) },
        ),
      ),
    close: () => client.close(),
  });
}

// deno-lint-ignore no-explicit-any
function plain(result: any): Result {
  const text = result.content.map((block: { text?: string }) => block.text ?? "").join("");
  return { text, isError: result.isError === true, data: result.structuredContent };
}
