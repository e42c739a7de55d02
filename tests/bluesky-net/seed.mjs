// Seeds three accounts and about thirty posts through the public XRPC API only.
import { AtpAgent, RichText } from "@atproto/api";
import { crc32, deflateSync } from "node:zlib";

// A valid RGB PNG of one colour, so that blob sniffing and image views are real.
function png(width, height, [r, g, b]) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE(crc32(body) >>> 0, body.length + 4);
    return out;
  };
  const ihdr = Buffer.alloc(13);
  ihdr.writeUInt32BE(width, 0);
  ihdr.writeUInt32BE(height, 4);
  ihdr.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.alloc(1 + width * 3);
  for (let x = 0; x < width; x++) row.set([r, g, b], 1 + x * 3);
  const raw = Buffer.concat(Array.from({ length: height }, () => row));
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", ihdr),
    chunk("IDAT", deflateSync(raw)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const PEOPLE = [
  {
    key: "alice",
    displayName: "Alice Liddell",
    description: "Gardener & cartographer.\nWrites about #maps and soil.",
    colour: [200, 60, 60],
  },
  {
    key: "bob",
    displayName: "Bob Ó Briain 🚲",
    description: "Bicycles, trains, *Markdown_chars* and [brackets](x).",
    colour: [60, 120, 200],
  },
  { key: "carol", displayName: "", description: "", colour: [60, 160, 90] },
];

/** An account of its own, with an app password, and one that may read direct messages. */
export async function createAccount(pdsUrl, name) {
  const agent = new AtpAgent({ service: pdsUrl });
  const handle = `${name}.test`, email = `${name}@example.test`, password = `${name}-main-password`;
  await agent.createAccount({ handle, email, password });
  const { server } = agent.com.atproto;
  const plain = await server.createAppPassword({ name: "local tests" });
  const privileged = await server.createAppPassword({ name: "local tests dm", privileged: true });
  return {
    agent,
    handle,
    did: agent.assertDid,
    email,
    password,
    appPassword: plain.data.password,
    privilegedAppPassword: privileged.data.password,
  };
}

export async function seed(pdsUrl) {
  const who = {};
  for (const p of PEOPLE) {
    const account = who[p.key] = await createAccount(pdsUrl, p.key);
    const { agent } = account;
    // Carol keeps no profile record at all: the empty-profile case.
    if (p.displayName) {
      const up = await agent.uploadBlob(png(64, 64, p.colour), { encoding: "image/png" });
      await agent.upsertProfile((old) => ({
        ...old,
        displayName: p.displayName,
        description: p.description,
        avatar: up.data.blob,
      }));
    }
  }
  const { alice, bob, carol } = who;
  const posts = [];
  let clock = Date.now() - 40 * 60_000; // one post a minute, oldest first, none in the future
  const post = async (by, text, extra = {}) => {
    clock += 60_000;
    const rt = new RichText({ text });
    await rt.detectFacets(by.agent);
    const record = {
      $type: "app.bsky.feed.post",
      text: rt.text,
      langs: ["en"],
      createdAt: new Date(clock).toISOString(),
      ...(rt.facets?.length ? { facets: rt.facets } : {}),
      ...extra,
    };
    const res = await by.agent.com.atproto.repo.createRecord({
      repo: by.did,
      collection: "app.bsky.feed.post",
      record,
    });
    const ref = { uri: res.data.uri, cid: res.data.cid };
    posts.push({ ...ref, by: by.handle, text: rt.text });
    return ref;
  };
  const image = async (by, colour, alt, w = 32, h = 24) => {
    const up = await by.agent.uploadBlob(png(w, h, colour), { encoding: "image/png" });
    return { alt, image: up.data.blob, aspectRatio: { width: w, height: h } };
  };
  const replyTo = (root, parent = root) => ({ reply: { root, parent } });
  const quote = (ref) => ({ $type: "app.bsky.embed.record", record: ref });

  // plain text, hashtags, mentions, links
  const a1 = await post(alice, "Hello from a local network, this is the first post.");
  const a2 = await post(
    alice,
    "Drawing #maps of the allotment today. Cartography is gardening. #soil",
  );
  const a3 = await post(alice, "Thanks @bob.test and @carol.test for the compass!");
  await post(
    alice,
    "Notes are at https://example.test/notes/2024?a=1&b=2 for anyone who wants them.",
  );
  const b1 = await post(bob, "Rode the canal path at dawn 🚲🌅 — café stop after 12 km. #cycling");
  await post(
    bob,
    "Markdown trouble: *stars* _under_ `ticks` # not a heading > not a quote [x](y) <b>tag</b>",
  );
  await post(bob, "Line one\nLine two\n\nLine four after a blank one");
  const c1 = await post(carol, "Grüße aus Köln, straße und Fuß.", { langs: ["de"] });
  await post(carol, "今日は地図を描きました。 #地図", { langs: ["ja"] });
  await post(carol, "مرحبا بالعالم, mixed direction text", { langs: ["ar", "en"] });
  await post(bob, "x".repeat(299) + ".");
  await post(alice, "Searchable needle: xylophone-4711", { tags: ["hidden-tag", "maps"] });
  await post(alice, "XYLOPHONE in capitals, to see whether search minds case");

  // embeds
  const i1 = await post(alice, "One picture of the plot", {
    embed: {
      $type: "app.bsky.embed.images",
      images: [await image(alice, [30, 160, 30], "A green allotment plot")],
    },
  });
  await post(bob, "Four pictures, one without alt text", {
    embed: {
      $type: "app.bsky.embed.images",
      images: [
        await image(bob, [10, 10, 200], "Blue bike"),
        await image(bob, [200, 10, 10], "Red bike"),
        await image(bob, [240, 220, 0], ""),
        await image(bob, [0, 0, 0], "Night ride\nwith two lines of alt"),
      ],
    },
  });
  const l1 = await post(bob, "Worth a read", {
    embed: {
      $type: "app.bsky.embed.external",
      external: {
        uri: "https://example.test/article",
        title: "The long road [draft]",
        description: "An article about roads & rails.",
      },
    },
  });
  await post(carol, "", {
    embed: {
      $type: "app.bsky.embed.external",
      external: {
        uri: "https://example.test/only-a-card",
        title: "Card with no post text",
        description: "",
        thumb: (await image(carol, [99, 99, 99], "")).image,
      },
    },
  });
  const q1 = await post(carol, "Quoting the first post", { embed: quote(a1) });
  await post(bob, "Quote of a quote", { embed: quote(q1) });
  await post(alice, "Quote with a picture", {
    embed: {
      $type: "app.bsky.embed.recordWithMedia",
      record: quote(b1),
      media: {
        $type: "app.bsky.embed.images",
        images: [await image(alice, [120, 0, 120], "A purple swatch")],
      },
    },
  });
  // The bytes are only an MP4 file-type box: enough for the PDS to store it as video/mp4.
  const mp4 = await bob.agent.uploadBlob(
    Buffer.from("00000018667479706d703432000000006d70343269736f6d", "hex"),
    { encoding: "video/mp4" },
  );
  await post(bob, "A short video", {
    embed: {
      $type: "app.bsky.embed.video",
      video: mp4.data.blob,
      alt: "A wheel turning",
      aspectRatio: { width: 16, height: 9 },
    },
  });
  await post(carol, "Marked with a content warning", {
    labels: { $type: "com.atproto.label.defs#selfLabels", values: [{ val: "graphic-media" }] },
  });

  // replies: a thread three deep, a second branch, a reply with a quote
  const r1 = await post(bob, "Welcome! First reply.", replyTo(a1));
  const r2 = await post(alice, "Thank you, second level.", replyTo(a1, r1));
  await post(carol, "Third level here.", replyTo(a1, r2));
  await post(carol, "A second branch of the thread", replyTo(a1));
  await post(alice, "Reply that also quotes", { ...replyTo(b1), embed: quote(l1) });
  await post(alice, "Antwort auf Deutsch", { ...replyTo(c1), langs: ["de"] });

  // a quote and a reply whose target no longer exists
  const gone = await post(bob, "This post will be deleted");
  const qGone = await post(carol, "Quoting something that was deleted", { embed: quote(gone) });
  await post(alice, "Replying to something that was deleted", replyTo(gone));
  await bob.agent.deletePost(gone.uri);
  posts.splice(posts.findIndex((p) => p.uri === gone.uri), 1);

  // graph and counters
  await alice.agent.follow(bob.did);
  await alice.agent.follow(carol.did);
  await bob.agent.follow(alice.did);
  await bob.agent.like(a1.uri, a1.cid);
  await carol.agent.like(a1.uri, a1.cid);
  await carol.agent.repost(a1.uri, a1.cid);
  await alice.agent.like(b1.uri, b1.cid);
  await bob.agent.repost(i1.uri, i1.cid);

  return {
    who,
    posts,
    named: {
      first: a1,
      hashtags: a2,
      mentions: a3,
      images: i1,
      link: l1,
      quote: q1,
      threadRoot: a1,
      quoteOfDeleted: qGone,
    },
  };
}
