/**
 * Draws the fields of a form as HTML: labels, help and problems belong to their inputs, so that
 * screen readers read them together. The HTML needs no script and no inline style.
 */
import type { Entered, FormField, FormProblem } from "./form.ts";

export interface FormState {
  /** The values that the person entered before. Default: the defaults of the fields. */
  readonly entered?: Entered;
  readonly problems?: readonly FormProblem[];
}

/** A field with more choices than this is a drop-down list instead of radio buttons. */
const MAX_RADIOS = 7;

/** A field for longer texts has several lines. */
const LONG_TEXT = 200;

/** Limits above this get no hint, because people type less. */
const MAX_TOLD = 10_000;

/** Escapes text for HTML, in elements and in attributes. */
export function escaped(text: string): string {
  return text.replace(/[&<>"'`]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** The fields of a form, and above them a list of its problems. */
export function fieldsHtml(fields: readonly FormField[], state: FormState = {}): string {
  return summaryHtml(fields, state.problems ?? []) +
    fields.map((field) => fieldHtml(field, state)).join("");
}

/** Formats a problem as a sentence. */
export function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function summaryHtml(fields: readonly FormField[], problems: readonly FormProblem[]): string {
  if (problems.length === 0) return "";
  const items = problems.map(({ field: name, message }) => {
    const field = fields.find((one) => one.name === name);
    return field
      ? `<li><a href="#${field.input}">${escaped(field.label)}</a>: ${escaped(message)}</li>`
      : `<li>${escaped(sentence(message))}</li>`;
  });
  return `<div class="problems" role="alert" tabindex="-1" autofocus><p>Please check your answer:</p><ul>${
    items.join("")
  }</ul></div>`;
}

function fieldHtml(field: FormField, { entered, problems = [] }: FormState): string {
  const { input } = field;
  const own = problems.filter(({ field: name }) => name === field.name);
  const given = field.sensitive ? undefined : entered?.get(input);
  const values = given ?? (entered || field.sensitive ? [] : defaultsOf(field));
  const hint = hintOf(field);
  const text = field.help !== undefined && hint !== undefined ? sentence(field.help) : field.help;
  const help = [text, hint].filter((part) => part !== undefined);
  const helpHtml = help.length > 0
    ? `<p class="help" id="${input}-help">${escaped(help.join(" "))}</p>`
    : "";
  const problemHtml = own.length > 0
    ? `<p class="problem" id="${input}-problem">${
      own.map(({ message }) => escaped(sentence(message))).join(" ")
    }</p>`
    : "";
  const about = [
    ...(help.length > 0 ? [`${input}-help`] : []),
    ...(own.length > 0 ? [`${input}-problem`] : []),
  ];
  const aria = (about.length > 0 ? ` aria-describedby="${about.join(" ")}"` : "") +
    (own.length > 0 ? ' aria-invalid="true"' : "");
  const marked = own.length > 0 ? " invalid" : "";
  const label = escaped(field.label) + (mayStayEmpty(field) ? OPTIONAL : "");

  if (isSwitch(field)) {
    return `<div class="field switch${marked}"><label><input type="checkbox" id="${input}" name="${input}" value="true"${
      values[0] === "true" ? " checked" : ""
    }${aria}> <span>${label}</span></label>${helpHtml}${problemHtml}</div>`;
  }
  if (isGroup(field)) {
    // A group is focusable, so that a link in the list of problems can lead to it.
    return `<fieldset class="field${marked}" id="${input}" tabindex="-1"${aria}><legend>${label}</legend>${helpHtml}${problemHtml}${
      groupHtml(field, values)
    }</fieldset>`;
  }
  const required = field.required ? ' aria-required="true"' : "";
  return `<div class="field${marked}"><label for="${input}">${label}</label>${helpHtml}${problemHtml}${
    field.kind === "choice"
      ? selectHtml(field, values, required + aria)
      : inputHtml(field, values, required + aria)
  }</div>`;
}

/**
 * True if the person may leave a field empty. A field with a default always has a value: the
 * default is used if nothing is entered.
 */
function mayStayEmpty({ required, default: value }: FormField): boolean {
  return !required && value === undefined;
}

const OPTIONAL = ' <span class="optional">(optional)</span>';

/**
 * True if a field is shown as a checkbox, which always has a value. A boolean that may stay
 * unanswered has radio buttons instead.
 */
export function isSwitch({ kind, required, default: value }: FormField): boolean {
  return kind === "boolean" && (required || typeof value === "boolean");
}

function isGroup(field: FormField): boolean {
  const { kind, choices } = field;
  return kind === "choices" || kind === "boolean" ||
    (kind === "choice" && choices.length <= MAX_RADIOS);
}

/**
 * The value of an input is the position of its choice, because a choice can be any text, even an
 * empty one.
 */
function groupHtml(field: FormField, values: readonly string[]): string {
  const { kind, input, choices } = field;
  const canBeNone = kind !== "choices" && mayStayEmpty(field);
  const type = kind === "choices" ? "checkbox" : "radio";
  const options = kind === "boolean"
    ? [["true", "Yes"], ["false", "No"]]
    : choices.map(({ label }, index) => [String(index), label]);
  if (canBeNone) options.push(["", "No answer"]);
  const chosen = canBeNone && values.length === 0 ? [""] : values;
  return options.map(([value = "", label = ""]) =>
    `<label class="option"><input type="${type}" name="${input}" value="${value}"${
      chosen.includes(value) ? " checked" : ""
    }> <span>${escaped(label)}</span></label>`
  ).join("");
}

function selectHtml(
  field: FormField,
  values: readonly string[],
  attributes: string,
): string {
  const { input, choices } = field;
  const none = mayStayEmpty(field) ? "No answer" : "Choose one";
  const options = choices.map(({ label }, index) =>
    `<option value="${index}"${values.includes(String(index)) ? " selected" : ""}>${
      escaped(label)
    }</option>`
  );
  return `<select id="${input}" name="${input}"${attributes}><option value="">${none}</option>${
    options.join("")
  }</select>`;
}

/** An input of type `number` discards text that is not a number, so numbers have text inputs. */
const TYPES: { readonly [kind: string]: string | undefined } = {
  text: 'type="text"',
  email: 'type="email" autocomplete="email"',
  uri: 'type="url" inputmode="url"',
  date: 'type="date"',
  "date-time": 'type="datetime-local"',
  number: 'type="text" inputmode="decimal" autocomplete="off"',
  integer: 'type="text" inputmode="numeric" autocomplete="off"',
};

function inputHtml(field: FormField, values: readonly string[], attributes: string): string {
  const { kind, input, sensitive, max, label } = field;
  const [value = "", zone] = values;
  if (sensitive) {
    return `<input type="password" autocomplete="off" id="${input}" name="${input}"${attributes}>`;
  }
  const isLong = kind === "text" && ((max ?? 0) > LONG_TEXT || value.includes("\n"));
  if (isLong || kind === "json") {
    return `<textarea id="${input}" name="${input}" rows="5"${attributes}>\n${
      escaped(value)
    }</textarea>`;
  }
  // Browsers show fractions of a second only if `step` allows them.
  const step = kind === "date-time" && value.includes(".") ? ' step="0.001"' : "";
  const main = `<input ${TYPES[kind]}${step} id="${input}" name="${input}" value="${
    escaped(value)
  }"${attributes}>`;
  if (kind !== "date-time") return main;
  // Without a script, the page cannot know the person's time zone.
  const known = zone === undefined ? ' value="Z" data-zone' : ` value="${escaped(zone)}"`;
  return `<div class="moment">${main}<input type="text" name="${input}" aria-label="${
    escaped(label)
  }: offset from UTC, such as +02:00"${known}></div>`;
}

/** Converts a default to the values of the field's inputs. */
function defaultsOf({ kind, choices, default: value }: FormField): readonly string[] {
  const at = (one: unknown) => String(choices.findIndex((choice) => choice.value === one));
  switch (kind) {
    case "choice":
      return value === undefined ? [] : [at(value)];
    case "choices":
      return Array.isArray(value) ? value.map(at) : [];
    case "date-time":
      return typeof value === "string" ? splitMoment(value) : [];
    case "json":
      return value === undefined ? [] : [JSON.stringify(value, null, 2)];
    default:
      return value === undefined ? [] : [String(value)];
  }
}

/**
 * Splits a date and time into the values of its two inputs: the local time, and the offset from
 * UTC.
 */
export function splitMoment(text: string): readonly string[] {
  // Browsers accept at most milliseconds.
  const [, local, fraction = "", zone] =
    /^(.{10}T\d\d:\d\d(?::\d\d)?)(\.\d{1,3})?\d*(Z|[+-]\d\d:\d\d)$/i.exec(text) ?? [];
  return local && zone ? [`${local}${fraction}`, zone] : [];
}

/** A hint about the expected value, if the input does not show it. */
function hintOf({ kind, min, max }: FormField): string | undefined {
  switch (kind) {
    case "text":
      return (min ?? 0) > 1 || (max ?? Infinity) < MAX_TOLD
        ? limits(min, max, "character")
        : undefined;
    case "integer":
      return min === undefined && max === undefined
        ? "A whole number."
        : limits(min, max, undefined);
    case "number":
      return min === undefined && max === undefined
        ? "A number, such as 1.5."
        : limits(min, max, undefined);
    case "choices":
      return (min ?? 0) > 0 || max !== undefined ? limits(min, max, "item") : undefined;
    case "json":
      return "As JSON.";
    case "date-time":
      return "Date, time, and offset from UTC (Z is UTC itself).";
    default:
      return undefined;
  }
}

/** Bounds in words, such as `At least 3 characters` or `From 1 to 9`. */
function limits(
  min: number | undefined,
  max: number | undefined,
  of: "character" | "item" | undefined,
): string | undefined {
  const unit = of === "item" ? "choice" : of;
  const counted = (bound: number) =>
    unit ? `${bound} ${unit}${bound === 1 ? "" : "s"}` : `${bound}`;
  const least = of && (min ?? 0) === 0 ? undefined : min;
  if (least !== undefined && max !== undefined) {
    if (least === max) return `Exactly ${counted(max)}.`;
    return of ? `${least} to ${counted(max)}.` : `From ${least} to ${max}.`;
  }
  if (least !== undefined) return `At least ${counted(least)}.`;
  return max === undefined ? undefined : `At most ${counted(max)}.`;
}
