/** A flow: one call of a tool, played by a client to its end, and its results. */
import assert from "node:assert/strict";
import { ABLE } from "../support/legacy/client.ts";
import { ABLE_WITH_TASKS } from "../support/modern/client.ts";
import { PatientClient } from "../support/legacy/patient-client.ts";
import { PatientClient as PatientModernClient } from "../support/modern/patient-client.ts";
import type { Message } from "../support/exchange.ts";
import type { MortalServer } from "./mortal-server.ts";
import type { Effect } from "./tools.ts";

/** What the person types into a sensitive field. */
export const SECRET = "4929-1234-5678-9107";

export type Era = "legacy" | "modern";

export interface Kind {
  readonly era: Era;
  readonly tool: "order" | "lease" | "lease_as_task";
}

/** A flow as its client saw it. */
export interface Talk {
  readonly kind: Kind;
  /** How often the client called before it could name its call. */
  readonly calls: number;
  // deno-lint-ignore no-explicit-any
  readonly result: any;
  /** What was asked of the person and the model, by its name in the call. */
  readonly questions: ReadonlyMap<string, string>;
  /** Progress and log messages, and in the legacy era requests, duplicates included. */
  readonly told: readonly string[];
}

/** A flow and its effects on the outside world. */
export interface Story extends Talk {
  readonly effects: readonly Effect[];
}

/** Plays a flow. The server may die during the flow. */
export async function play(server: MortalServer, kind: Kind, flow: string): Promise<Talk> {
  const questions = new Map<string, string>();
  const answer = (request: Message, name: string) => {
    const { method, params } = request;
    const meaning = JSON.stringify({ method, params });
    // A question may be asked again, but no other under its name.
    assert.equal(questions.get(name) ?? meaning, meaning, "it was another question before");
    questions.set(name, meaning);
    return method === "elicitation/create" ? personSays(params.message) : MODEL_SAYS;
  };
  const { client, result } = kind.era === "modern"
    ? await playModern(server, kind, flow, answer)
    : await playLegacy(server, kind, flow, answer);
  return {
    kind,
    calls: client.calls,
    result: JSON.parse(result.content[0].text),
    questions,
    told: client.heard.filter(({ method }) => method !== undefined).map(tellingOf),
  };
}

async function playModern(
  server: MortalServer,
  { tool }: Kind,
  flow: string,
  answer: (request: Message, name: string) => object,
) {
  const client = new PatientModernClient(server.where, answer, {
    name: `flow ${flow}`,
    capabilities: ABLE_WITH_TASKS,
  });
  return { client, result: await client.call(tool, { flow }) };
}

async function playLegacy(
  server: MortalServer,
  { tool }: Kind,
  flow: string,
  answer: (request: Message, name: string) => object,
) {
  const client = new PatientClient(server.where, (request) => answer(request, String(request.id)));
  await client.connect(ABLE, `flow ${flow}`);
  return { client, result: await client.call(tool, { flow }) };
}

function personSays(question: string): object {
  switch (question) {
    case "Who is it for?":
      return { action: "accept", content: { name: "Ada" } };
    case "Which card?":
      return { action: "accept", content: { card: SECRET, holder: "Ada L." } };
    case "Size?":
      return { action: "accept", content: { size: 42 } };
    case "Colour?":
      return { action: "accept", content: { colour: "green" } };
    case "More, besides 0?":
      return { action: "accept", content: { item: "a lace" } };
    case "More, besides 1?":
      return { action: "accept", content: { item: "a box" } };
    case "More, besides 2?":
      return { action: "decline" };
    default:
      throw new Error(`Nobody knows what to say to "${question}"`);
  }
}

const MODEL_SAYS = {
  role: "assistant",
  content: { type: "text", text: "O shoe, thou art green." },
  model: "poet-1",
  stopReason: "endTurn",
};

/** A message without what differs in every request. */
function tellingOf({ method, params }: Message): string {
  const { progressToken: _token, _meta, ...rest } = params;
  return JSON.stringify({ method, params: rest });
}
