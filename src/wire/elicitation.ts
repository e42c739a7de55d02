/**
 * JSON text of elicitation forms, shared by both eras. A form's schema is sent many times and
 * never changes, so its text is cached per object.
 */
import type { ElicitFormParams } from "../model/events.ts";

const texts = new WeakMap<object, string>();

export function cachedJson(value: object): string {
  let text = texts.get(value);
  if (text === undefined) texts.set(value, text = JSON.stringify(value));
  return text;
}

/**
 * Returns the parameters of a form question as JSON. The schema belongs to the tool and is often
 * the largest part. `view` is the address of a view that can draw the form.
 */
export function formParamsText(
  { message, requestedSchema }: ElicitFormParams,
  sensitive?: readonly string[],
  view?: string,
): string {
  const { _meta } = formMeta(sensitive, view);
  return `{"mode":"form","message":${JSON.stringify(message)},"requestedSchema":${
    cachedJson(requestedSchema)
  }${_meta ? `,"_meta":${JSON.stringify(_meta)}` : ""}}`;
}

export const SENSITIVE = "parley-mcp/sensitive";

/** The `_meta` of a form question. A form that asks for secrets has no view. */
export function formMeta(
  sensitive: readonly string[] = [],
  view: string | undefined,
): { _meta?: object } {
  if (view === undefined || sensitive.length > 0) return sensitiveMeta(sensitive);
  return { _meta: { ui: { resourceUri: view } } };
}

export function sensitiveMeta(fields: readonly string[] = []): { _meta?: object } {
  return fields.length > 0 ? { _meta: { [SENSITIVE]: fields } } : {};
}
