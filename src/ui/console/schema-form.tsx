/** @jsxImportSource preact */
/// <reference lib="dom" />
/** The form of the asking page, in the console: for questions and for the parameters of tools. */
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import { readForm } from "../form-data.ts";
import { fieldsHtml, type FormState } from "../form-html.ts";
import { type FormField, formFields } from "../form.ts";
import { fillZones } from "../zones.ts";

export function SchemaForm({ schema, sensitive, submit, send, children }: {
  schema: JsonObject;
  sensitive?: readonly string[];
  /** The label of the button. */
  submit: string;
  send: (content: JsonObject) => unknown;
  /** More buttons. */
  children?: ComponentChildren;
}) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const [shown, setShown] = useState<FormState>({});
  const fields = useMemo(
    () =>
      formFields(schema, sensitive).map((field): FormField => ({
        ...field,
        // Several forms can be in one document.
        input: `${id}${field.input}`.replace(/\W/g, ""),
      })),
    // The same schema may arrive again as another object. What was typed must stay.
    [JSON.stringify([schema, sensitive]), id],
  );
  // Drawn only if something changed: what the person has typed must stay.
  useLayoutEffect(() => {
    box.current!.innerHTML = fieldsHtml(fields, shown);
    fillZones(box.current!);
    if (shown.problems?.length) box.current!.querySelector<HTMLElement>(".problems")?.focus();
  }, [fields, shown]);
  const accept = (event: Event) => {
    event.preventDefault();
    const { content, problems, entered } = readForm(
      fields,
      new FormData(event.currentTarget as HTMLFormElement),
    );
    if (problems.length > 0) setShown({ problems, entered });
    else send(typed(schema, content));
  };
  return (
    <form noValidate onSubmit={accept} onClick={followLink}>
      <div ref={box} />
      <div class="actions">
        <button type="submit" class="main">{submit}</button>
        {children}
      </div>
    </form>
  );
}

/** A link in the list of problems leads to a field. The address of the page must stay. */
function followLink(event: Event): void {
  const link = (event.target as Element).closest("a[href^='#']");
  if (!link) return;
  event.preventDefault();
  document.querySelector<HTMLElement>(link.getAttribute("href")!)?.focus();
}

/** Choices are texts in a form. The parameters of tools may also allow numbers, true and null. */
function typed({ properties }: JsonObject, content: JsonObject): JsonObject {
  if (!isObject(properties)) return content;
  const entries = Object.entries(content).map(([name, value]) => {
    const schema = properties[name];
    if (!isObject(schema) || typeof value !== "string") return [name, value];
    const constants = [schema.oneOf, schema.anyOf].flatMap((list) =>
      Array.isArray(list) ? list.filter(isObject).map((one) => one.const) : []
    );
    const choices = Array.isArray(schema.enum) ? schema.enum : constants;
    return [name, choices.find((one) => String(one) === value) ?? value];
  });
  return Object.fromEntries(entries);
}
