import assert from "node:assert/strict";
import { escapeHtml, formHtml, htmlPage, readPostedForm } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../suite.ts";

const form = {
  schema: z.object({ handle: z.string().min(2), pin: z.string().optional() }),
  sensitive: ["pin"],
};
const URL_OF_PAGE = "https://tools.example/pages/x";

function posted(fields: Record<string, string>, headers: Record<string, string> = {}) {
  const body = new URLSearchParams(fields).toString();
  return new Request("http://127.0.0.1:1/pages/x", {
    method: "POST",
    headers: {
      origin: "https://tools.example",
      "content-type": "application/x-www-form-urlencoded",
      "content-length": String(body.length),
      ...headers,
    },
    body,
  });
}

describe("htmlPage()", () => {
  it("returns a page with a strict policy", async () => {
    const response = htmlPage({
      title: "<Done>",
      body: `<p>${escapeHtml("<b>")}</p>`,
      status: 201,
    });
    assert.equal(response.status, 201);
    const text = await response.text();
    assert.match(text, /<title>&#60;Done&#62;<\/title>/);
    assert.match(text, /<p>&#60;b&#62;<\/p>/);
    assert.doesNotMatch(response.headers.get("content-security-policy")!, /unsafe/);
  });
});

describe("formHtml() and readPostedForm()", () => {
  it("name the inputs like the fields, and read them back", async () => {
    assert.match(formHtml(form), /name="handle".*name="pin"/s);
    const read = await readPostedForm(posted({ handle: "ada", pin: "1234" }), form, URL_OF_PAGE);
    assert.deepEqual(read?.content, { handle: "ada", pin: "1234" });
    assert.deepEqual(read?.problems, []);
    assert.doesNotMatch(formHtml(form, read), /1234/);
  });

  it("show problems beside their fields, with what was entered", async () => {
    const read = await readPostedForm(posted({ handle: "a", pin: "1234" }), form, URL_OF_PAGE);
    assert.deepEqual(read?.problems, [
      { field: "handle", message: "expected at least 2 characters" },
    ]);
    const html = formHtml(form, read);
    assert.match(html, /id="handle-problem"/);
    assert.match(html, /value="a"/);
    assert.doesNotMatch(html, /1234/);
  });

  it("read a form of unknown length, up to a limit, and notice a broken connection", async () => {
    const streamed = (body: ReadableStream<Uint8Array>) => {
      const headers = new Headers(posted({}).headers);
      headers.delete("content-length");
      const init = { method: "POST", headers, body, duplex: "half" };
      return readPostedForm(new Request(URL_OF_PAGE, init as RequestInit), form, URL_OF_PAGE);
    };
    const bytes = (text: string) => new TextEncoder().encode(text);
    const short = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes("handle="));
        controller.enqueue(bytes("ada"));
        controller.close();
      },
    });
    assert.deepEqual((await streamed(short))?.content, { handle: "ada" });
    let stopped = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(bytes("a".repeat(100_000))),
      cancel: () => void (stopped = true),
    });
    assert.equal(await streamed(endless), undefined);
    assert.equal(stopped, true);
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error("the connection broke")),
    });
    assert.equal(await streamed(broken), undefined);
  });

  it("read only forms that come from the page itself", async () => {
    const fields = { handle: "ada" };
    for (
      const headers of [
        { origin: "https://evil.example" },
        { "sec-fetch-site": "cross-site" },
        { "content-type": "text/plain" },
        { "content-length": "99999999" },
      ]
    ) {
      const request = posted(fields, headers as never);
      assert.equal(await readPostedForm(request, form, URL_OF_PAGE), undefined);
    }
    assert.equal(await readPostedForm(posted(fields), form), undefined);
    const here = posted(fields, { origin: "http://127.0.0.1:1" });
    assert.ok(await readPostedForm(here, form));
  });
});
