/**
 * Pages for people, all in one style. Creates pages and forms, and reads posted forms. The server's
 * own pages use these functions. Tools can use them too, with `ctx.usePage`.
 */
import { nodeCrypto } from "../lib/sealer.ts";
import type { JsonObject } from "../model/content.ts";
import { formSchema } from "../schema/lazy.ts";
import type { SchemaInput } from "../schema/types.ts";
import { PAGE_SCRIPT } from "../ui/built.ts";
import { type Entered, type FormField, formFields, type FormProblem } from "../ui/form.ts";
import { readForm } from "../ui/form-data.ts";
import { escaped, fieldsHtml } from "../ui/form-html.ts";
import { pageHtml, type PageParts } from "../ui/page.ts";
import { STYLE } from "../ui/style.ts";
import { isType } from "./guard.ts";

const MAX_BODY = 1024 * 1024;

/** Computed on first use, because loading `node:crypto` takes several milliseconds. */
let policy: string | undefined;

/** The headers of every page: it loads nothing, runs only our script, and cannot be framed. */
export function pageHeaders() {
  policy ??= `default-src 'none'; style-src ${digest(STYLE)}; script-src ${
    digest(PAGE_SCRIPT)
  }; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;
  return {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
  };
}

function digest(text: string): string {
  return `'sha256-${nodeCrypto().createHash("sha256").update(text).digest("base64")}'`;
}

/** A page with only a heading and a sentence. */
export function noticePage(
  status: number,
  title: string,
  text: string,
  headers: { readonly [name: string]: string } = {},
): Response {
  const body = `<h1>${escaped(title)}</h1><p>${escaped(text)}</p>`;
  return respondWith(status, { title, body }, headers);
}

export function respondWith(
  status: number,
  parts: PageParts,
  headers: { readonly [name: string]: string } = {},
): Response {
  const text = pageHtml(parts.watch ? { ...parts, script: PAGE_SCRIPT } : parts);
  return new Response(text, { status, headers: { ...pageHeaders(), ...headers } });
}

/** A page for a browser. */
export interface HtmlPageOptions {
  /** The title, as text. */
  readonly title: string;
  /** The HTML of the page, without `html`, `head` and `body`. */
  readonly body: string;
  /** The HTTP status. Default: 200. */
  readonly status?: number;
}

/**
 * Returns a page in the style of the server's own pages. It may not contain scripts, styles or
 * anything from other servers: its policy forbids them.
 *
 * @example
 * ```ts
 * import { escapeHtml, htmlPage } from "parley-mcp";
 *
 * const name = "Ada & Co";
 * const response = htmlPage({ title: "Done", body: `<h1>Thank you, ${escapeHtml(name)}</h1>` });
 * ```
 */
export function htmlPage({ title, body, status = 200 }: HtmlPageOptions): Response {
  return respondWith(status, { title, body });
}

/**
 * Escapes a text for HTML, in elements and in attributes.
 *
 * @example
 * ```ts
 * import { escapeHtml } from "parley-mcp";
 *
 * console.log(`<p>${escapeHtml("1 < 2")}</p>`);
 * ```
 */
export function escapeHtml(text: string): string {
  return escaped(text);
}

/** A form on a page. */
export interface PageForm {
  /** The fields: a flat object, as for an elicitation. */
  readonly schema: SchemaInput;
  /**
   * Fields whose values are hidden while they are typed, and are never sent back to the browser.
   */
  readonly sensitive?: readonly string[];
}

/** The values and problems that a form shows. */
export interface PageFormState {
  /** The values that the person entered before, by field. Default: the defaults of the fields. */
  readonly entered?: Entered;
  /** Problems to show, beside their fields. */
  readonly problems?: readonly FormProblem[];
}

/**
 * Returns the fields of a form as HTML, without `form` and buttons. The inputs have the names of
 * the fields. `readPostedForm` reads the values that a person entered.
 *
 * @example
 * ```ts
 * import { formHtml, htmlPage } from "parley-mcp";
 * import { z } from "zod";
 *
 * const fields = formHtml({ schema: z.object({ seat: z.enum(["window", "aisle"]) }) });
 * const page = htmlPage({
 *   title: "Seat",
 *   body: `<h1>Your seat</h1><form method="post">${fields}<button>Send</button></form>`,
 * });
 * ```
 */
export function formHtml(form: PageForm, state: PageFormState = {}): string {
  return fieldsHtml(fieldsOf(form), state);
}

/** The content of a posted form. */
export interface PostedForm {
  /** The answer. It is complete only if there are no problems. */
  readonly content: JsonObject;
  readonly problems: readonly FormProblem[];
  /** The values to show if the form is shown again. Never contains sensitive fields. */
  readonly entered: Entered;
}

/**
 * Reads a form that a browser has posted. Returns undefined if the request is not a form from the
 * page itself. `url` is the page's URL, which a server behind a proxy cannot know from the request.
 *
 * @example
 * ```ts
 * import { readPostedForm } from "parley-mcp";
 * import { z } from "zod";
 *
 * async function seatIn(request: Request): Promise<unknown> {
 *   const posted = await readPostedForm(request, { schema: z.object({ seat: z.string() }) });
 *   return posted?.problems.length === 0 ? posted.content.seat : undefined;
 * }
 * ```
 */
export async function readPostedForm(
  request: Request,
  form: PageForm,
  url: string = request.url,
): Promise<PostedForm | undefined> {
  if (!isOwnPost(request.headers, url)) return undefined;
  const posted = await readUrlEncoded(request);
  return posted && readForm(fieldsOf(form), posted);
}

function fieldsOf({ schema, sensitive }: PageForm): FormField[] {
  return formFields(formSchema(schema).json, sensitive)
    .map((field) => ({ ...field, input: field.name }));
}

/** True if a form was sent from the page itself. Browsers send `Origin` with every POST. */
export function isOwnPost(headers: Headers, url: string): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return false;
  const origin = headers.get("origin");
  if (origin === null) return site === "same-origin";
  const host = headers.get("host");
  return origin === new URL(url).origin ||
    (host !== null && (origin === `http://${host}` || origin === `https://${host}`));
}

/** Reads a posted form. Undefined if the body is not a form, is too large, or is incomplete. */
export async function readUrlEncoded(request: Request): Promise<URLSearchParams | undefined> {
  const { headers } = request;
  if (!isType(headers.get("content-type"), "application/x-www-form-urlencoded")) return undefined;
  // Some proxies send no `Content-Length`.
  const length = headers.get("content-length");
  if (length !== null && !(Number(length) <= MAX_BODY)) return undefined;
  const text = await boundedText(request.body).catch(() => undefined);
  return text === undefined ? undefined : new URLSearchParams(text);
}

async function boundedText(body: Request["body"]): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BODY) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
