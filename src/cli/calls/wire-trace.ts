/** `parley call --trace --url`: the messages on the wire, as lines for the terminal. */
import { MASK } from "../../ask/mask.ts";
import type { TraceLine } from "../../client/http.ts";
import { isObject } from "../../lib/json.ts";
import { SENSITIVE } from "../../wire/elicitation.ts";
import type { Style } from "../terminal/style.ts";
import { visible, visibleJson } from "../terminal/visible.ts";

/** The maximum length of a line. */
const MAX_LINE = 2_000;

/**
 * Returns a function that prints each message. The values of fields that the server has declared
 * sensitive are masked, also in later messages.
 */
export function wireTrace(
  print: (line: string) => void,
  style: Style,
): (message: TraceLine) => void {
  const sensitive = new Set<string>();
  return ({ from, text }) => {
    const shown = masked(text, sensitive);
    const line = shown.length > MAX_LINE ? `${shown.slice(0, MAX_LINE)}…` : shown;
    print(`${style.dim(from === "client" ? "→" : "←")} ${line}`);
  };
}

function masked(text: string, sensitive: Set<string>): string {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return visible(text);
  }
  note(message, sensitive);
  if (sensitive.size === 0) return visibleJson(message);
  return visibleJson(JSON.parse(JSON.stringify(message, (name, value) =>
    // Mask only plain values: in a schema, the name of a field leads to an object.
    sensitive.has(name) && !isObject(value) ? MASK : value)));
}

/** Remembers the names of sensitive fields that a message declares. */
function note(value: unknown, sensitive: Set<string>): void {
  if (Array.isArray(value)) return value.forEach((one) => note(one, sensitive));
  if (!isObject(value)) return;
  const fields = value[SENSITIVE];
  if (Array.isArray(fields)) { for (const field of fields) sensitive.add(String(field)); }
  for (const one of Object.values(value)) note(one, sensitive);
}
