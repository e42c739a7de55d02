/** The official clients, which make the same call and record what they see. */
import * as v2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import {
  answerForm,
  type Conversation,
  newConversation,
  plainResult,
  POEM,
} from "./multi-round-tool.ts";

let count = 0;

/**
 * Each client has its own name. Clients with the same name that decline this fast would count as a
 * client that does not show forms.
 */
function newInfo() {
  return { name: `official ${++count}`, version: "1.0.0" };
}

const CAPABILITIES = { elicitation: { form: {} }, sampling: {} };

export interface Official {
  readonly conversation: Conversation;
  /** The negotiated revision. */
  readonly version: string | undefined;
  call(name: string, args: { [key: string]: unknown }, signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The client of the legacy revisions, over HTTP. */
export async function connectV1(url: string): Promise<Official> {
  const transport = new StreamableHTTPClientTransport(new URL(url));
  const client = await connectV1Over(transport, () => transport.protocolVersion);
  return {
    ...client,
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}

/** The client of the legacy revisions; `version` returns the negotiated revision. */
export async function connectV1Over(
  transport: Parameters<Client["connect"]>[0],
  version: () => string | undefined,
): Promise<Official> {
  const conversation = newConversation();
  const { answer, sampled, logged, progressed } = handlers(conversation);
  const client = new Client(newInfo(), { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, answer);
  client.setRequestHandler(CreateMessageRequestSchema, sampled);
  client.setNotificationHandler(LoggingMessageNotificationSchema, logged);
  await client.connect(transport);
  return {
    conversation,
    version: version(),
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

/** The client of all revisions, over HTTP. */
export async function connectV2(
  url: string,
  mode: v2.VersionNegotiationMode,
): Promise<Official> {
  const transport = new v2.StreamableHTTPClientTransport(new URL(url));
  const client = await connectV2Over(transport, mode);
  return {
    ...client,
    close: async () => {
      if (client.version !== "2026-07-28") await transport.terminateSession();
      await client.close();
    },
  };
}

/** The client of all revisions. */
export async function connectV2Over(
  transport: Parameters<v2.Client["connect"]>[0],
  mode: v2.VersionNegotiationMode,
): Promise<Official> {
  const conversation = newConversation();
  const { answer, sampled, logged, progressed } = handlers(conversation);
  const client = new v2.Client(newInfo(), {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode },
  });
  client.setRequestHandler("elicitation/create", answer);
  client.setRequestHandler("sampling/createMessage", sampled);
  client.setNotificationHandler("notifications/message", logged);
  await client.connect(transport);
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

interface Asked {
  readonly method: string;
  readonly params: object;
}

/** How a client handles messages; the same for both clients. */
function handlers({ questions, answers, logs, progress }: Conversation) {
  const ask = ({ method, params }: Asked) => {
    const { _meta, ...rest } = params as { [key: string]: unknown };
    questions.push({ method, ...rest });
  };
  return {
    answer(request: Asked & { readonly params: { readonly message: string } }) {
      ask(request);
      const answer = answerForm(request.params.message);
      answers.push(answer);
      return answer;
    },
    sampled(request: Asked) {
      ask(request);
      answers.push(POEM);
      return POEM;
    },
    logged: ({ params }: { readonly params: object }) => void logs.push(params),
    progressed(step: { readonly message?: string | undefined }) {
      // The newer client also sends notifications about itself.
      if (!step.message?.startsWith("Fulfilling input required")) progress.push(step);
    },
  };
}
