/**
 * Clients that play: the official ones, of both generations, each with a person and (if it
 * supports sampling) a model behind it. They record what they were asked.
 */
import * as v2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { JsonObject, SampleParams, ToolResult } from "parley-mcp";
import { assertModelIds } from "../../support/model-ids.ts";

/** The person and the model behind the client. */
export interface Table {
  /** Fills in a form. */
  person(form: { message: string; requestedSchema: JsonObject }): JsonObject | "decline" | "cancel";
  /** Answers a sample; without it the client declares no sampling. */
  model?: { answer(params: SampleParams): object; readonly knowsTools: boolean };
}

export interface Played {
  readonly result: ToolResult;
  readonly version: string | undefined;
  /** What was asked, in order: `form`, `sample` or `sample with tools`. */
  readonly asked: readonly string[];
  readonly progress: readonly number[];
}

type Call = { readonly name: string; readonly arguments: JsonObject };

const INFO = { name: "player", version: "1.0.0" };

function capabilitiesOf({ model }: Table) {
  return {
    elicitation: { form: {} },
    ...(model && { sampling: model.knowsTools ? { tools: {} } : {} }),
  };
}

/** How a client handles requests; the same for both generations. */
function seats({ person, model }: Table, asked: string[]) {
  return {
    elicit({ params }: { params: unknown }) {
      asked.push("form");
      const filled = person(params as { message: string; requestedSchema: JsonObject });
      return typeof filled === "string"
        ? { action: filled }
        : { action: "accept" as const, content: filled as { [field: string]: string } };
    },
    sample({ params }: { params: unknown }) {
      assertModelIds((params as SampleParams).messages);
      asked.push((params as SampleParams).tools ? "sample with tools" : "sample");
      return model!.answer(params as SampleParams) as never;
    },
  };
}

/** The client of the legacy revisions, over HTTP by default. */
export async function playV1(
  where: string | Transport,
  table: Table,
  call: Call,
): Promise<Played> {
  const asked: string[] = [];
  const progress: number[] = [];
  const { elicit, sample } = seats(table, asked);
  const client = new Client(INFO, { capabilities: capabilitiesOf(table) });
  client.setRequestHandler(ElicitRequestSchema, elicit);
  if (table.model) client.setRequestHandler(CreateMessageRequestSchema, sample);
  const http = typeof where === "string"
    ? new StreamableHTTPClientTransport(new URL(where))
    : undefined;
  await client.connect(http ?? (where as Transport));
  try {
    const result = await client.callTool(call, CallToolResultSchema, {
      onprogress: ({ progress: step }: { progress: number }) => void progress.push(step),
    });
    return {
      result: result as unknown as ToolResult,
      version: http?.protocolVersion,
      asked,
      progress,
    };
  } finally {
    await http?.terminateSession();
    await client.close();
  }
}

/** The client of all revisions, in the modern era. */
export async function playV2(
  where: string,
  table: Table,
  call: Call,
  maxRounds?: number,
): Promise<Played> {
  const asked: string[] = [];
  const progress: number[] = [];
  const { elicit, sample } = seats(table, asked);
  const client = new v2.Client(INFO, {
    capabilities: capabilitiesOf(table),
    versionNegotiation: { mode: { pin: "2026-07-28" } },
    ...(maxRounds !== undefined && { inputRequired: { maxRounds } }),
  });
  client.setRequestHandler("elicitation/create", elicit);
  if (table.model) client.setRequestHandler("sampling/createMessage", sample);
  await client.connect(new v2.StreamableHTTPClientTransport(new URL(where)));
  try {
    const result = await client.callTool(call, {
      onprogress: ({ progress: step, message }) => {
        // It also sends notifications about itself.
        if (!message?.startsWith("Fulfilling input required")) progress.push(step);
      },
    });
    const version = client.getNegotiatedProtocolVersion();
    return { result: result as unknown as ToolResult, version, asked, progress };
  } finally {
    await client.close();
  }
}
