/** Converts a server's requests to questions for a person. */
import { isObject } from "../lib/json.ts";
import type { JsonObject } from "../model/content.ts";
import type { RequestFailure, SampleParams } from "../model/events.ts";
import { METHOD_NOT_FOUND } from "../model/rpc-codes.ts";
import { SENSITIVE } from "../wire/elicitation.ts";
import type { Progress, Question } from "./person.ts";

/** The question in a server's request. Undefined if this client does not support the method. */
export function questionIn(method: unknown, params: unknown): Question | undefined {
  const given = isObject(params) ? params : {};
  switch (method) {
    case "elicitation/create": {
      const message = String(given.message ?? "");
      if (given.mode === "url") {
        return { type: "page", params: { mode: "url", message, url: String(given.url) } };
      }
      const requestedSchema = isObject(given.requestedSchema) ? given.requestedSchema : {};
      const params = { mode: "form", message, requestedSchema } as const;
      return { type: "form", params, sensitive: sensitiveIn(given) };
    }
    case "sampling/createMessage":
      return { type: "sample", params: withContentLists(given) };
    case "roots/list":
      return { type: "roots" };
  }
  return undefined;
}

function sensitiveIn({ _meta: meta }: JsonObject): string[] {
  const fields = isObject(meta) ? meta[SENSITIVE] : undefined;
  return Array.isArray(fields) ? fields.map(String) : [];
}

/** Puts a single content block into a list. On the wire, `content` may be a block or a list. */
function withContentLists(params: JsonObject): SampleParams {
  const messages = Array.isArray(params.messages) ? params.messages.filter(isObject) : [];
  return {
    ...params,
    messages: messages.map(({ role, content }) => ({
      role,
      content: Array.isArray(content) ? content : [content],
    })),
  } as unknown as SampleParams;
}

export function progressIn(params: JsonObject): Progress {
  const { progress, total, message } = params;
  return {
    progress: Number(progress),
    ...(typeof total === "number" && { total }),
    ...(typeof message === "string" && { message }),
  };
}

/** The answer to a request that this client cannot fulfil. */
export function impossible(message: string): RequestFailure {
  return { error: { code: METHOD_NOT_FOUND, message } };
}
