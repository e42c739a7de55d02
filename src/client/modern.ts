/** A client for revision 2026-07-28. There is no session: the client repeats a call with answers. */
import { all, type Operation, scoped } from "effection";
import { isObject } from "../lib/json.ts";
import type { JsonObject } from "../model/content.ts";
import { DefinitionError } from "../model/errors.ts";
import type { ClientAnswer, ClientCapabilities, ToolResult } from "../model/events.ts";
import { UNSUPPORTED_VERSION } from "../model/rpc-codes.ts";
import { checkedHeaders } from "../schema/header-parameters.ts";
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  LOG_LEVEL,
  PROTOCOL_VERSION,
} from "../wire/modern/meta.ts";
import { MODERN_VERSION } from "../wire/versions.ts";
import { ClientError } from "./client-error.ts";
import { type Endpoint, type HeaderLines, Refusal, type Reply, send } from "./http.ts";
import type { Person } from "./person.ts";
import { impossible, progressIn, questionIn } from "./questions.ts";
import {
  CAPABILITIES,
  type ClientIdentity,
  listTools,
  type RemoteServer,
  type RemoteTool,
} from "./server.ts";

/** How many times a call may ask before the client gives up. */
const MAX_ROUNDS = 100;

export class ModernServer implements RemoteServer {
  readonly version = MODERN_VERSION;
  readonly #endpoint: Endpoint;
  readonly #identity: ClientIdentity;
  readonly #capabilities: ClientCapabilities;
  #lastId = 0;

  constructor(endpoint: Endpoint, identity: ClientIdentity, capabilities = CAPABILITIES) {
    this.#endpoint = endpoint;
    this.#identity = identity;
    this.#capabilities = capabilities;
  }

  /** Sends `server/discover`. Throws `Refusal` if the server does not support this revision. */
  *discover(): Operation<void> {
    const { supportedVersions } = yield* this.#discovery();
    if (Array.isArray(supportedVersions) && supportedVersions.includes(MODERN_VERSION)) return;
    throw new Refusal({ status: 200 });
  }

  /** Asks again if the server refuses the revision, although it lists it as supported. */
  *#discovery(): Operation<JsonObject> {
    try {
      return yield* this.#request("server/discover", {});
    } catch (error) {
      if (!(error instanceof Refusal) || !supports(error)) throw error;
      return yield* this.#request("server/discover", {});
    }
  }

  tools(): Operation<RemoteTool[]> {
    return listTools((params) => this.#request("tools/list", params));
  }

  *call(tool: RemoteTool, args: JsonObject, person: Person): Operation<ToolResult> {
    const params: JsonObject = { name: tool.name, arguments: args };
    const headers = parameterHeaders(tool, args);
    return (yield* this.#rounds("tools/call", params, headers, person)) as unknown as ToolResult;
  }

  request(method: string, params: JsonObject, person?: Person): Operation<JsonObject> {
    return person
      ? this.#rounds(method, params, {}, person)
      : this.#request(method, params, namedHeader(params));
  }

  /** Repeats a request with answers until it has a result. */
  *#rounds(
    method: string,
    params: JsonObject,
    headers: HeaderLines,
    person: Person,
  ): Operation<JsonObject> {
    const all = { ...namedHeader(params), ...headers };
    let more: JsonObject = {};
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const result = yield* this.#request(method, { ...params, ...more }, all, person);
      if (result.resultType !== "input_required") return result;
      const { inputRequests, requestState } = result;
      more = {
        ...(requestState !== undefined && { requestState }),
        inputResponses: yield* answers(isObject(inputRequests) ? inputRequests : {}, person),
      };
    }
    throw new ClientError(
      `Cannot finish "${
        params.name ?? params.uri ?? method
      }": the server asked for answers ${MAX_ROUNDS} times, which is the limit; check whether the tool ever accepts an answer`,
    );
  }

  *close(): Operation<void> {}

  *#request(
    method: string,
    params: JsonObject,
    headers: HeaderLines = {},
    person?: Person,
  ): Operation<JsonObject> {
    const id = ++this.#lastId;
    const endpoint = this.#endpoint;
    const message = {
      jsonrpc: "2.0",
      id,
      method,
      params: { ...params, _meta: this.#meta(person ? id : undefined) },
    };
    const extra = { "mcp-protocol-version": MODERN_VERSION, "mcp-method": method, ...headers };
    return yield* scoped(function* () {
      const reply = yield* send(endpoint, "POST", extra, message);
      return yield* resultIn(reply, id, person);
    });
  }

  #meta(progressToken: number | undefined): JsonObject {
    return {
      [PROTOCOL_VERSION]: MODERN_VERSION,
      [CLIENT_INFO]: this.#identity,
      [CLIENT_CAPABILITIES]: this.#capabilities,
      ...(progressToken !== undefined && { progressToken, [LOG_LEVEL]: "info" }),
    };
  }
}

function supports({ error }: Refusal): boolean {
  const supported = error?.code === UNSUPPORTED_VERSION && isObject(error.data)
    ? error.data.supported
    : undefined;
  return Array.isArray(supported) && supported.includes(MODERN_VERSION);
}

function* resultIn(reply: Reply, id: number, person: Person | undefined): Operation<JsonObject> {
  for (;;) {
    const incoming = yield* reply.next();
    if (!incoming) throw new Refusal(reply);
    const { message } = incoming;
    if (message?.type === "answer") {
      if ("error" in message) throw new Refusal(reply, message.error);
      if (message.id === id) return message.result;
    } else if (message?.type === "notification") {
      const { method, params } = message;
      if (method === "notifications/progress") person?.progress(progressIn(params));
      if (method === "notifications/message") person?.log(params.level as "info", params.data);
    }
  }
}

/** Collects the answers to all questions of one round. The client sends them together. */
function* answers(requests: JsonObject, person: Person): Operation<JsonObject> {
  const found = yield* all(
    Object.entries(requests).map(([name, request]) => answered(name, request, person)),
  );
  return Object.fromEntries(found);
}

function* answered(
  name: string,
  request: unknown,
  person: Person,
): Operation<readonly [string, ClientAnswer]> {
  const { method, params } = isObject(request) ? request : {} as JsonObject;
  const question = questionIn(method, params);
  return [
    name,
    question ? yield* person.answer(question) : impossible(
      `Cannot answer "${method}": this client does not support it; continue without an answer`,
    ),
  ];
}

/** The header that repeats the name of a tool or prompt, or the URI of a resource. */
function namedHeader({ name, uri }: JsonObject): HeaderLines {
  const named = name ?? uri;
  return typeof named === "string" ? { "mcp-name": encoded(named) } : {};
}

/** The headers that repeat arguments, for parameters that the tool's schema marks as headers. */
function parameterHeaders({ name, inputSchema }: RemoteTool, args: JsonObject): HeaderLines {
  const lines: { [name: string]: string } = {};
  try {
    for (const parameter of checkedHeaders(`tool "${name}"`, inputSchema)) {
      const value = parameter.path.reduce<unknown>(
        (at, key) => isObject(at) ? at[key] : undefined,
        args,
      );
      if (value !== undefined && value !== null) {
        lines[`mcp-param-${parameter.name}`] = encoded(String(value));
      }
    }
  } catch (error) {
    if (error instanceof DefinitionError) throw new ClientError(error.message);
    throw error;
  }
  return lines;
}

/** Encodes a value as Base64 if a header cannot contain it as it is. */
function encoded(value: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  if (plain && !/^=\?base64\?.*\?=$/.test(value)) return value;
  const bytes = Array.from(new TextEncoder().encode(value), (byte) => String.fromCharCode(byte));
  return `=?base64?${btoa(bytes.join(""))}?=`;
}
