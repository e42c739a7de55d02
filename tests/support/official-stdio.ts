/** The official clients over stdio: each starts its own program. */
import * as v2 from "@modelcontextprotocol/client";
import { StdioClientTransport as V2Transport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { newConversation, plainResult } from "./multi-round-tool.ts";
import { CAPABILITIES, handlers, INFO, type Official } from "./official-clients.ts";
import type { Start } from "./program.ts";

/** The client of the legacy revisions. */
export async function startV1(start: Start): Promise<Official> {
  const conversation = newConversation();
  const { answer, sampled, logged, progressed } = handlers(conversation);
  const client = new Client(INFO, { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, answer);
  client.setRequestHandler(CreateMessageRequestSchema, sampled);
  client.setNotificationHandler(LoggingMessageNotificationSchema, logged);
  let version: string | undefined;
  const transport = new StdioClientTransport(parameters(start));
  Object.assign(transport, { setProtocolVersion: (agreed: string) => version = agreed });
  await client.connect(transport);
  return {
    conversation,
    version,
    async call(name, args, signal) {
      const result = await client.callTool({ name, arguments: args }, CallToolResultSchema, {
        ...(signal && { signal }),
        onprogress: progressed,
      });
      conversation.result = plainResult(result);
    },
    close: () => client.close(),
  };
}

/** The client of all revisions. */
export async function startV2(start: Start, mode: v2.VersionNegotiationMode): Promise<Official> {
  const conversation = newConversation();
  const { answer, sampled, logged, progressed } = handlers(conversation);
  const client = new v2.Client(INFO, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode },
  });
  client.setRequestHandler("elicitation/create", answer);
  client.setRequestHandler("sampling/createMessage", sampled);
  client.setNotificationHandler("notifications/message", logged);
  await client.connect(new V2Transport(parameters(start)));
  const version = client.getNegotiatedProtocolVersion();
  const isModern = version === "2026-07-28";
  return {
    conversation,
    version,
    async call(name, args, signal) {
      const _meta = { [v2.LOG_LEVEL_META_KEY]: "info" };
      const result = await client.callTool({ name, arguments: args, ...(isModern && { _meta }) }, {
        ...(signal && { signal }),
        onprogress: progressed,
      });
      conversation.result = plainResult(result);
    },
    close: () => client.close(),
  };
}

function parameters([command, ...args]: Start) {
  return { command, args, stderr: "ignore" as const };
}
