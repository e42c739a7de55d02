/** A remote server of either era, as `parley call` uses it. */
import type { Operation } from "effection";
import type { JsonObject } from "../model/content.ts";
import type { ClientCapabilities, ToolResult } from "../model/events.ts";
import type { Person } from "./person.ts";

export interface RemoteTool {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema: JsonObject;
}

export interface RemoteServer {
  /** The negotiated revision. */
  readonly version: string;
  /** Sends a request. The person answers the questions that the server asks before its result. */
  request(method: string, params: JsonObject, person?: Person): Operation<JsonObject>;
  tools(): Operation<RemoteTool[]>;
  call(tool: RemoteTool, args: JsonObject, person: Person): Operation<ToolResult>;
  /** Ends the session, if the revision has one. */
  close(): Operation<void>;
}

export interface ClientIdentity {
  readonly name: string;
  readonly version: string;
}

/** The capabilities that `parley call` declares to the server. */
export const CAPABILITIES: ClientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
};

/** Reads all pages of the tool list. `request` sends one `tools/list` request. */
export function* listTools(
  request: (params: JsonObject) => Operation<JsonObject>,
): Operation<RemoteTool[]> {
  const found: RemoteTool[] = [];
  let cursor: unknown;
  do {
    const page = yield* request(cursor === undefined ? {} : { cursor });
    if (Array.isArray(page.tools)) found.push(...page.tools as RemoteTool[]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return found;
}
