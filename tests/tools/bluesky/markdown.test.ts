/** Whatever strangers write stays their text, and changes nothing of ours. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { folded, inline, link, quotation } from "../../../tools/bluesky/markdown.ts";
import { searchMarkdown } from "../../../tools/bluesky/post-markdown.ts";
import { profileMarkdown } from "../../../tools/bluesky/profile-markdown.ts";
import type { Post } from "../../../tools/bluesky/schemas.ts";
import { describe, it } from "../../suite.ts";

function rendered(markdown: string): string {
  return micromark(markdown, {
    allowDangerousHtml: true,
    extensions: [gfm()],
    htmlExtensions: [gfmHtml()],
  });
}

/** The elements of a page, in order. */
function elements(html: string): string[] {
  return [...html.matchAll(/<(\/?[a-z][a-z0-9]*)[^>]*>/g)].map((tag) => tag[1]!);
}

/** The text that a person would read. */
function readable(html: string): string {
  const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"' };
  return html.replace(/<[^>]*>/g, "").replace(/&(amp|lt|gt|quot);/g, (_, name) => entities[name]!);
}

/** The same words, whatever the white space between them. */
function words(text: string): string {
  return text.replace(
    /[\p{Cc}\s\u2028\u2029\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+/gu,
    "",
  );
}

/** Hostile texts: pieces of Markdown and HTML among letters, spaces and line breaks. */
const nasty = fc.array(
  fc.oneof(
    fc.constantFrom(
      ..."*_`~#>[]()!|<>&-+=.:\\$^{}\"'/@1234567890",
      ..."\n\r\t \u2028\u202e\u200b\u0000",
      "\n\n",
      "```\n",
      "~~~\n",
      "    ",
      "\n    code",
      "\n# heading",
      "\n- item",
      "\n1. one",
      "\n2) two",
      "\n---\n",
      "\n===\n",
      "\n> quote",
      "![x](https://evil.example/x.png)",
      "[x](javascript:alert(1))",
      "<script>alert(1)</script>",
      "<!-- ",
      "</details>",
      "&lt;b&gt;",
      "&#60;",
      "| a | b |\n|---|---|\n",
      "[^1]: note",
      "[x]: https://evil.example",
      "- [ ] task",
      "https://evil.example/",
      "www.evil.example",
      "a@evil.example",
      "mailto:a@evil.example",
    ),
    fc.string({ maxLength: 4 }),
    fc.string({ unit: "binary", maxLength: 3 }),
  ),
  { maxLength: 24 },
).map((parts) => parts.join(""));

describe("quotation()", () => {
  it("turns any text into one quotation with the same words, and nothing else", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const html = rendered(quotation(text));
        const allowed = ["blockquote", "/blockquote", "p", "/p", "br"];
        const found = elements(html);
        assert.deepEqual(found.filter((name) => !allowed.includes(name)), [], html);
        assert.equal(found.filter((name) => name === "blockquote").length, 1, html);
        assert.ok(html.startsWith("<blockquote>") && html.trimEnd().endsWith("</blockquote>"));
        assert.equal(words(readable(html)), words(text.replaceAll("\u0000", "")));
      }),
      { numRuns: 1_000 },
    );
  });

  it("does not run into what follows", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const html = rendered(`${quotation(text)}\n\nours **here**`);
        assert.ok(html.trimEnd().endsWith("<p>ours <strong>here</strong></p>"), html);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("inline()", () => {
  it("turns any text into a few words, inside a heading, an item and a link", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const heading = rendered(`## 1. ${inline(text)} (@x)\n\nafter`);
        assert.match(heading, /^<h2>1\. .*\(@x\)<\/h2>\n<p>after<\/p>$/);
        assert.deepEqual(
          elements(heading).filter((name) => !["h2", "/h2", "p", "/p"].includes(name)),
          [],
          heading,
        );
        assert.equal(
          words(readable(heading)),
          words(`1. ${text.replaceAll("\u0000", "")} (@x)after`),
        );
        const item = rendered(`- **Image:** ${link(text, "https://a.example/x")}\n\nafter`);
        const names = elements(item).filter((name) => !/^\/?(ul|li|strong|a|p)$/.test(name));
        assert.deepEqual(names, [], item);
        assert.ok(item.trimEnd().endsWith("<p>after</p>"), item);
        assert.equal(item.match(/<a href="https:\/\/a\.example\/x"/g)?.length, 1, item);
        assert.equal(item.match(/<a /g)?.length, 1, item);
      }),
      { numRuns: 600 },
    );
  });
});

describe("link()", () => {
  it("points to its address, or nowhere", () => {
    fc.assert(
      fc.property(fc.oneof(nasty, fc.webUrl().map((url) => `${url}#)>${"`"}`)), (target) => {
        const html = rendered(link("words", target));
        const hrefs = [...html.matchAll(/href="([^"]*)"/g)].map((match) => match[1]!);
        assert.ok(hrefs.length <= 1, html);
        for (const href of hrefs) assert.match(href, /^https?:/);
        assert.equal(words(readable(html)), "words");
      }),
      { numRuns: 1_000 },
    );
    for (const target of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", ""]) {
      assert.equal(link("words", target), "words");
    }
  });
});

describe("folded()", () => {
  it("keeps any data inside its fence", () => {
    fc.assert(
      fc.property(fc.jsonValue(), nasty, (value, text) => {
        const html = rendered(`${folded("Raw", { value, text, ticks: "`".repeat(9) })}\n\nafter`);
        assert.ok(html.trimEnd().endsWith("</details>\n<p>after</p>"), html);
        assert.equal(elements(html).filter((name) => name === "details").length, 1);
      }),
      { numRuns: 500 },
    );
  });
});

describe("searchMarkdown() and profileMarkdown()", () => {
  const author = (name: string) => ({
    did: "did:plc:x",
    handle: "a.test",
    displayName: name,
    url: "https://bsky.app/profile/a.test",
  });
  const post = (text: string): Post => ({
    uri: "at://did:plc:x/app.bsky.feed.post/1",
    cid: "bafy",
    url: "https://bsky.app/profile/a.test/post/1",
    author: author(text),
    text,
    languages: [],
    facets: [{ type: "link", text, url: text, byteStart: 0, byteEnd: 1 }],
    embeds: [
      { type: "image", alt: text, url: "https://cdn.example/1" },
      { type: "link", title: text, description: text, url: text },
      { type: "quote", uri: "at://x/y/z", url: "https://bsky.app/x", author: author(text), text },
      { type: "video", alt: text },
      { type: "other", title: text },
    ],
    counts: { replies: 0, reposts: 0, likes: 0, quotes: 0 },
    createdAt: text,
    indexedAt: "2024-01-01T00:00:00Z",
  });

  it("keep their structure around any text", () => {
    const shape = (markdown: string) =>
      elements(rendered(markdown)).filter((name) =>
        /^(?:h[1-6]|hr|ul|li|details|summary|pre)$/.test(name)
      );
    const found = (text: string) => ({
      account: "me.test",
      query: text,
      posts: [post(text), post(text)],
      cursor: text || "c",
    });
    const plain = shape(searchMarkdown(found("x")));
    const person = (text: string) =>
      profileMarkdown(
        { ...author(text), description: text, followers: 1, follows: 1, posts: 1, createdAt: text },
        { text },
      );
    const plainPerson = shape(person("x"));
    fc.assert(
      fc.property(nasty.filter((text) => words(text) !== ""), (text) => {
        assert.deepEqual(shape(searchMarkdown(found(text))), plain);
        assert.deepEqual(shape(person(text)), plainPerson);
      }),
      { numRuns: 100 },
    );
  });
});
