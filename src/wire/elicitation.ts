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

/**
 * `_meta` of a form question: its sensitive fields, or the view that draws it. Apps never draw forms
 * that ask for secrets.
 */
export function formMeta(sensitive: readonly string[] = [], view?: string): { _meta?: object } {
  if (sensitive.length > 0) return { _meta: { [SENSITIVE]: sensitive } };
  return view === undefined ? {} : { _meta: { ui: { resourceUri: view } } };
}
