/** The tools that a server adds, so that calls can continue after their requests have ended. */
import type { JsonObject } from "../../model/content.ts";
import { objectSchema, schemaReader } from "../../schema/lazy.ts";
import type { Definition, FinalizedMcpTool } from "../../tool/types.ts";
import type { Catalog } from "../catalog.ts";
import { mayDefer } from "./deferral.ts";

export const CONTINUE_CALL: FinalizedMcpTool = doorTool(
  "continue_call",
  "Continues a tool call that waits for the person. " +
    "Use it only if a result told you to, with the ticket from that result. " +
    "It returns the result of the tool, or the next question.",
  {
    type: "object",
    properties: {
      ticket: { type: "string", description: "The ticket from the last result" },
      key: {
        type: "string",
        description: "The key of the question that is answered, if several are open",
      },
      answer: {
        anyOf: [{ type: "object" }, { type: "string" }, { type: "number" }, { type: "boolean" }],
        description:
          `The person's own answer: an object with the fields of the question, or "decline". ` +
          "Send it only if the result asks you for it.",
      },
      cancel: { type: "boolean", description: "True to end the call without a result" },
    },
    required: ["ticket"],
  },
);

export const ANSWER_CALL: FinalizedMcpTool = doorTool(
  "answer_call",
  "For the view of a tool, not for models: shows the question of a call, and answers it.",
  {
    type: "object",
    properties: {
      secret: { type: "string" },
      answer: {
        type: "object",
        properties: {
          question: { type: "string" },
          action: { type: "string", enum: ["accept", "decline", "cancel"] },
          content: { type: "object" },
        },
        required: ["question", "action"],
      },
      ticket: { type: "string" },
      find: {
        type: "object",
        properties: { tool: { type: "string" }, arguments: { type: "object" } },
      },
    },
  },
  ["app"],
);

const none: readonly FinalizedMcpTool[] = [];
const all: readonly FinalizedMcpTool[] = [CONTINUE_CALL, ANSWER_CALL];
const known = new WeakMap<Catalog, { readonly version: number; readonly asks: boolean }>();

/** The tools that continue calls. The server offers them if a tool or prompt may ask questions. */
export function doorTools(catalog: Catalog): readonly FinalizedMcpTool[] {
  let found = known.get(catalog);
  if (found?.version !== catalog.version) {
    const served = [catalog.tools, catalog.prompts].flatMap((shelf): Definition[] => [
      ...shelf.values(),
    ]);
    found = { version: catalog.version, asks: served.some(mayDefer) };
    known.set(catalog, found);
  }
  return found.asks ? all : none;
}

function doorTool(
  name: string,
  description: string,
  parameters: JsonObject,
  visibility?: FinalizedMcpTool["visibility"],
): FinalizedMcpTool {
  let schema: ReturnType<typeof objectSchema> | undefined;
  return {
    kind: "tool",
    name,
    description,
    // Create the schema on first access: creating it takes a tenth of the start-up time.
    get parameters() {
      return schema ??= objectSchema(parameters, "input");
    },
    ...(visibility && { visibility }),
    annotations: { openWorldHint: false },
    elicits: new Map(),
    requires: {},
    limits: {},
    schemas: schemaReader,
    headerParameters: [],
    body: {
      type: "execute",
      *execute() {
        throw new TypeError(`Cannot run "${name}": only a server can run it; call it on a server`);
      },
    },
  };
}
