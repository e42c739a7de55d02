/** A person with a browser that runs no scripts. */
import assert from "node:assert/strict";
import type { Fetch } from "../support/exchange.ts";
import type { Result } from "./host.ts";

/** The link in a deferral. */
export function linkIn(text: string): string {
  const [link] = /https?:\/\/[^\s"]+\/pages\/[\w-]+/.exec(text) ?? [];
  assert.ok(link, text);
  return link;
}

export interface Shown {
  readonly status: number;
  readonly html: string;
}

export async function show(fetch: Fetch, link: string): Promise<Shown> {
  const response = await fetch(new Request(link));
  return { status: response.status, html: await response.text() };
}

/** Opens a page, fills in its form and sends it. Returns the page after that. */
export async function answerPage(
  fetch: Fetch,
  link: string,
  fields: Result,
  action = "accept",
): Promise<Shown> {
  const { html, status } = await show(fetch, link);
  assert.equal(status, 200, html);
  return await sendForm(fetch, link, html, fields, action);
}

/** Sends the form of a page that was shown. Returns the page after that. */
export async function sendForm(
  fetch: Fetch,
  link: string,
  html: string,
  fields: Result,
  action = "accept",
): Promise<Shown> {
  const response = await postForm(fetch, link, html, fields, action);
  if (response.status !== 303) return { status: response.status, html: await response.text() };
  return await show(fetch, new URL(response.headers.get("location")!, link).href);
}

/** Sends the form of a page that was shown. */
export async function postForm(
  fetch: Fetch,
  link: string,
  html: string,
  fields: Result,
  action = "accept",
): Promise<Response> {
  const hidden = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1];
  const body = new URLSearchParams({
    token: hidden("token") ?? "",
    shown: hidden("shown") ?? "",
    action,
    // The names of a page's inputs are the positions of their fields.
    ...Object.fromEntries(Object.values<string>(fields).map((value, i) => [`f${i}`, value])),
  }).toString();
  return await fetch(
    new Request(link, {
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        "content-length": String(body.length),
        origin: new URL(link).origin,
      },
      body,
      redirect: "manual",
    }),
  );
}
