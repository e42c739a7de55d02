/** JSON of what is sent again and again, and never changes: made once for each object. */
import type { ElicitFormParams } from "../model/events.ts";

const texts = new WeakMap<object, string>();

export function cachedJson(value: object): string {
  let text = texts.get(value);
  if (text === undefined) texts.set(value, text = JSON.stringify(value));
  return text;
}

/** A form as its client gets it. The schema is the tool's, and often most of it. */
export function formParamsText(
  { message, requestedSchema }: ElicitFormParams,
  sensitive?: readonly string[],
): string {
  const { _meta } = sensitiveMeta(sensitive);
  return `{"mode":"form","message":${JSON.stringify(message)},"requestedSchema":${
    cachedJson(requestedSchema)
  }${_meta ? `,"_meta":${JSON.stringify(_meta)}` : ""}}`;
}

export const SENSITIVE = "parley-mcp/sensitive";

export function sensitiveMeta(fields: readonly string[] = []): { _meta?: object } {
  return fields.length > 0 ? { _meta: { [SENSITIVE]: fields } } : {};
}
