/** A server as `parley call` sees it, whichever revision it speaks. */
import type { Operation } from "effection";
import type { JsonObject } from "../model/content.ts";
import type { ToolResult } from "../model/events.ts";
import type { Person } from "./person.ts";

export interface RemoteTool {
  readonly name: string;
  readonly inputSchema: JsonObject;
}

export interface RemoteServer {
  /** The revision that both sides speak. */
  readonly version: string;
  tools(): Operation<RemoteTool[]>;
  call(tool: RemoteTool, args: JsonObject, person: Person): Operation<ToolResult>;
  /** Says goodbye, where the revision has a word for it. */
  close(): Operation<void>;
}

export interface ClientIdentity {
  readonly name: string;
  readonly version: string;
}

/** What the terminal can do for a server. */
export const CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
} as const;
