/** The requests to a service, and the results that are made from its responses. */
import assert from "node:assert/strict";
import { until } from "effection";
import { absence } from "../../harness/system.ts";
import { useBlueskyNetwork } from "../../bluesky-net/network.ts";
import { describe, it } from "../../suite.ts";
import type { Embed, Post } from "../../../tools/bluesky/schemas.ts";
import { PERSON, PROFILE } from "./fake-service.ts";
import { useFakeWorld } from "./fake-world.ts";
import { WAYS } from "./servers.ts";
import { useWorld } from "./world.ts";

const onNetwork = it.unless(absence("bluesky"));

const VIEW = {
  uri: "at://did:plc:aaaaaaaaaaaaaaaaaaaaaaaa/app.bsky.feed.post/3kabc",
  cid: "bafyreihyrpefhacm6kkp4ql6j6udakdit7g3dmkzfriqfykhjw6cad5lrm",
  author: { did: PERSON.did, handle: PERSON.handle },
  indexedAt: "2024-01-02T00:00:00.000Z",
};

describe("search", () => {
  it("returns everything that the service sends, unchanged", function* () {
    const { call, service, signIn } = yield* useFakeWorld({ can: "nothing" });
    yield* signIn();
    const given = {
      query: '"two words" #tag',
      limit: 7,
      author: "@Bob.Test",
      since: "2024-01-01",
      until: "2024-02-01T00:00:00+01:00",
      sort: "top",
      cursor: "page 2",
    };
    const { data, text } = yield* call("search", given);
    assert.deepEqual(Object.fromEntries(service.of("searchPosts")[0]!.query), {
      q: '"two words" #tag',
      limit: "7",
      author: "bob.test",
      since: "2024-01-01",
      until: "2024-02-01T00:00:00+01:00",
      sort: "top",
      cursor: "page 2",
    });
    assert.deepEqual(data, {
      account: PERSON.handle,
      query: given.query,
      posts: [],
      cursor: "next",
      markdown: text,
    });
    assert.match(text, /Nothing on this page/);
    yield* call("search", { query: "x" });
    assert.deepEqual(Object.fromEntries(service.of("searchPosts")[1]!.query), {
      q: "x",
      limit: "20",
    });
  });

  it("refuses invalid parameters before it calls the service", function* () {
    const { call, service, signIn } = yield* useFakeWorld({ can: "nothing" });
    yield* signIn();
    for (
      const [args, pattern] of [
        [{}, /query/],
        [{ query: "" }, /query/],
        [{ query: "x", limit: 0 }, /limit/],
        [{ query: "x", limit: 101 }, /limit/],
        [{ query: "x", limit: 1.5 }, /limit/],
        [{ query: "x", since: "yesterday" }, /since/],
        [{ query: "x", until: "2024-13-01" }, /until/],
        [{ query: "x", sort: "best" }, /sort/],
        [{ query: "x", author: "bob" }, /did you mean bob\.bsky\.social\?/],
      ] as const
    ) {
      const { isError, text } = yield* call("search", args);
      assert.equal(isError, true);
      assert.match(text, pattern);
    }
    assert.deepEqual(service.of("searchPosts"), []);
  });

  it("accepts an invalid record", function* () {
    const { call, service, signIn } = yield* useFakeWorld({ can: "nothing" });
    yield* signIn();
    const records: unknown[] = [
      {},
      { text: 7, langs: "en", facets: "x", reply: 3, createdAt: [] },
      {
        text: "short",
        facets: [null, {}, { index: { byteStart: 2, byteEnd: 99 }, features: [{}] }],
      },
      {
        text: "é",
        facets: [{ index: { byteStart: 0, byteEnd: 2 }, features: [{ $type: "new" }] }],
      },
    ];
    const posts = records.map((record) => ({ ...VIEW, record }));
    service.instead.set("searchPosts", () => Response.json({ posts }));
    const { data, isError, text } = yield* call("search", { query: "x" });
    assert.equal(isError, false, text);
    assert.deepEqual(data.posts.map((post: Post) => post.text), ["", "", "short", "é"]);
    assert.deepEqual(data.posts.map((post: Post) => post.facets.length), [0, 0, 0, 1]);
    assert.deepEqual(data.posts[3].facets[0], {
      type: "other",
      text: "é",
      byteStart: 0,
      byteEnd: 2,
    });
  });
});

describe("profile", () => {
  it("returns the same as data and as text, with raw data folded", function* () {
    const { call, signIn } = yield* useFakeWorld({ can: "nothing" });
    yield* signIn();
    const { data, text } = yield* call("profile", {
      account: "https://bsky.app/profile/alice.test",
    });
    assert.deepEqual(data, {
      did: PERSON.did,
      handle: PERSON.handle,
      displayName: "Alice",
      avatar: PROFILE.avatar,
      url: "https://bsky.app/profile/alice.test",
      description: "Maps and gardens",
      followers: 3,
      follows: 2,
      posts: 1_234,
      createdAt: PROFILE.createdAt,
      indexedAt: PROFILE.indexedAt,
      markdown: text,
    });
    assert.equal(
      text,
      [
        "# Alice",
        "> Maps and gardens",
        [
          "- **Handle:** @alice.test",
          `- **DID:** \`${PERSON.did}\``,
          "- **Profile:** <https://bsky.app/profile/alice.test>",
          "- **Avatar:** [picture](<https://cdn.example/alice.png>)",
          "- **Followers:** 3",
          "- **Follows:** 2",
          "- **Posts:** 1,234",
          "- **Created:** 2024-01-01T00:00:00.000Z",
          "- **Indexed:** 2024-01-02T00:00:00.000Z",
        ].join("\n"),
        `<details>\n<summary>Raw JSON</summary>\n\n\`\`\`json\n${
          JSON.stringify(PROFILE, null, 2)
        }\n\`\`\`\n\n</details>`,
      ].join("\n\n"),
    );
  });
});

describe("posts of the network", () => {
  onNetwork("have all their parts", function* () {
    const { assistant, person } = yield* useWorld(WAYS[0]!, "nothing");
    const network = yield* useBlueskyNetwork();
    const { handle, appPassword } = person;
    yield* until(assistant.call("login", { handle, password: appPassword }));
    const find = function* (query: string) {
      const { data, text, isError } = yield* until(assistant.call("search", { query }));
      assert.equal(isError, false, text);
      return { post: data.posts[0] as Post, text };
    };
    const shapes = (embeds: readonly Embed[]) => embeds.map(({ type, alt }) => [type, alt]);

    const first = yield* find("this is the first post");
    assert.equal(first.post.uri, network.named.first.uri);
    const key = network.named.first.uri.split("/").at(-1);
    assert.equal(first.post.url, `https://bsky.app/profile/alice.test/post/${key}`);
    assert.deepEqual(
      [first.post.counts.likes, first.post.counts.reposts, first.post.counts.replies > 0],
      [2, 1, true],
    );
    assert.match(first.text, /^# Posts about “this is the first post”\n\nSearched as @/);
    assert.match(first.text, /^## 1\. .+ \(@alice\.test\)$/m);
    assert.match(first.text, /^> Hello from a local network, this is the first post\.$/m);
    assert.match(first.text, /\n---\n\n1 post/);

    const tags = (yield* find("Drawing #maps")).post.facets;
    assert.deepEqual(tags.map(({ type, tag, text }) => [type, tag, text]), [
      ["tag", "maps", "#maps"],
      ["tag", "soil", "#soil"],
    ]);
    const mentions = (yield* find("for the compass")).post.facets;
    assert.deepEqual(mentions.map(({ type, did }) => [type, did]), [
      ["mention", network.accounts.bob.did],
      ["mention", network.accounts.carol.did],
    ]);
    const link = yield* find("Notes are at");
    assert.equal(link.post.facets[0]?.url, "https://example.test/notes/2024?a=1&b=2");
    assert.match(
      link.text,
      /- \*\*Link:\*\* \[.*\]\(<https:\/\/example\.test\/notes\/2024\?a=1&b=2>\)/,
    );

    assert.deepEqual(shapes((yield* find("Four pictures")).post.embeds), [
      ["image", "Blue bike"],
      ["image", "Red bike"],
      ["image", ""],
      ["image", "Night ride\nwith two lines of alt"],
    ]);
    const card = (yield* find("Worth a read")).post.embeds[0]!;
    assert.deepEqual([card.type, card.url, card.title], [
      "link",
      "https://example.test/article",
      "The long road [draft]",
    ]);
    const quote = (yield* find("Quoting the first")).post.embeds[0]!;
    assert.deepEqual([quote.type, quote.uri, quote.author?.handle], [
      "quote",
      network.named.first.uri,
      "alice.test",
    ]);
    assert.match(quote.text!, /^Hello from a local network/);
    const both = (yield* find("Quote with a picture")).post.embeds;
    assert.deepEqual(both.map(({ type }) => type), ["image", "quote"]);
    const video = (yield* find("A short video")).post.embeds[0]!;
    assert.deepEqual([video.type, video.alt], ["video", "A wheel turning"]);
    const gone = yield* find("Quoting something that was deleted");
    assert.equal(gone.post.embeds[0]!.unavailable, "it was deleted");
    const reply = (yield* find("Third level")).post.reply!;
    assert.equal(reply.root, network.named.threadRoot.uri);
    assert.notEqual(reply.parent, reply.root);
    assert.match((yield* find("Markdown trouble")).text, /^> Markdown trouble: \\\*stars\\\* /m);
  }, { within: 120_000 });
});
