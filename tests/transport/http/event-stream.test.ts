import assert from "node:assert/strict";
import { createManualClock } from "parley-mcp";
import { Deadlines } from "../../../src/lib/deadlines.ts";
import type { Feed, Send } from "../../../src/server/feed.ts";
import { EventStream } from "../../../src/transport/http/event-stream.ts";
import { frame } from "../../../src/wire/sse.ts";
import { describe, it } from "../../suite.ts";
import { turn } from "../../support/turn.ts";

const TIMES = { keepAliveInterval: 8_000, stallTimeout: 30_000 };

/** A feed that a test fills by hand. */
class HandFeed implements Feed {
  ready = "";
  done = false;
  reads = 0;
  wakes = new Set<() => void>();
  beat: ((silence: number) => string | undefined) | undefined;

  read(send: Send): void {
    this.reads++;
    const text = this.ready;
    this.ready = "";
    if (text) send(text);
  }

  put(text: string): void {
    this.ready += text;
    for (const wake of [...this.wakes]) wake();
  }

  finish(text = ""): void {
    this.done = true;
    this.put(text);
  }

  watch(wake: () => void): () => void {
    this.wakes.add(wake);
    return () => this.wakes.delete(wake);
  }

  heartbeat(silence: number, send: Send): void {
    const beat = this.beat?.(silence);
    if (beat !== undefined) send(beat);
  }
}

function setUp(first = "first;") {
  const clock = createManualClock();
  const deadlines = new Deadlines(clock);
  const feed = new HandFeed();
  let closed = 0;
  const stream = new EventStream(feed, first, deadlines, TIMES, () => closed++);
  const reader = stream.body.getReader();
  const decoder = new TextDecoder();
  const next = async () => {
    const { done, value } = await reader.read();
    return done ? undefined : decoder.decode(value);
  };
  return {
    clock,
    deadlines,
    feed,
    stream,
    reader,
    next,
    /** Whether everything was released. */
    assertClosed() {
      assert.equal(closed, 1);
      assert.equal(deadlines.size, 0);
      assert.equal(feed.wakes.size, 0);
    },
    assertOpen: () => assert.equal(closed, 0),
  };
}

describe("EventStream", () => {
  it("has its first chunk ready at once", async () => {
    const { next, stream } = setUp();
    assert.equal(await next(), "first;");
    stream.close();
  });

  it("sends what is ready with its first chunk", async () => {
    const { feed, next, stream } = setUp();
    feed.put("a;");
    assert.equal(feed.reads, 0);
    assert.equal(await next(), "first;" + frame("a;"));
    stream.close();
  });

  it("still sends its first chunk when it is closed before anybody read", async () => {
    const { feed, next, stream, assertClosed } = setUp();
    feed.put("a;");
    stream.close();
    assertClosed();
    assert.equal(feed.reads, 0);
    assert.equal(await next(), "first;");
    assert.equal(await next(), undefined);
  });

  it("sends what is ready as one chunk, and only on request", async () => {
    const { feed, next, stream } = setUp();
    await next();
    feed.put("a;");
    feed.put("b;");
    feed.put("c;");
    assert.equal(feed.reads, 1);
    assert.equal(await next(), frame("a;b;c;"));
    assert.equal(feed.reads, 2);
    stream.close();
  });

  it("sends new events at once while the reader waits", async () => {
    const { feed, next, stream } = setUp();
    await next();
    const reading = next();
    feed.put("a;");
    assert.equal(await reading, frame("a;"));
    stream.close();
  });

  it("ends after the last event of the feed", async () => {
    const { feed, next, assertClosed } = setUp();
    await next();
    const reading = next();
    feed.finish("last;");
    assert.equal(await reading, frame("last;"));
    assert.equal(await next(), undefined);
    assertClosed();
  });

  it("ends a feed that was done before anybody read", async () => {
    const { feed, next, assertClosed } = setUp();
    feed.finish("last;");
    assert.equal(await next(), "first;" + frame("last;"));
    assert.equal(await next(), undefined);
    assertClosed();
  });

  it("sends heartbeats in a silence, again and again", async () => {
    const { clock, next, stream } = setUp();
    await next();
    for (let i = 0; i < 3; i++) {
      const reading = next();
      await turn();
      clock.advance(TIMES.keepAliveInterval);
      assert.equal(await reading, ": keep-alive\n\n");
    }
    stream.close();
  });

  it("lets the feed send its own heartbeat, and restarts the silence", async () => {
    const { clock, feed, next, stream } = setUp();
    const silences: number[] = [];
    feed.beat = (silence) => {
      silences.push(silence);
      return silence >= 16_000 ? "beat;" : undefined;
    };
    await next();
    const heard: (string | undefined)[] = [];
    for (let i = 0; i < 2; i++) {
      const reading = next();
      await turn();
      clock.advance(TIMES.keepAliveInterval);
      heard.push(await reading);
    }
    const reading = next();
    feed.put("news;");
    heard.push(await reading);
    const last = next();
    await turn();
    clock.advance(TIMES.keepAliveInterval);
    heard.push(await last);
    assert.deepEqual(heard, [
      ": keep-alive\n\n",
      frame("beat;"),
      frame("news;"),
      ": keep-alive\n\n",
    ]);
    assert.deepEqual(silences, [8_000, 16_000, 8_000]);
    stream.close();
  });

  it("ends if nobody reads the first chunk", () => {
    const { clock, assertOpen, assertClosed } = setUp();
    clock.advance(TIMES.stallTimeout - 1);
    assertOpen();
    clock.advance(1);
    assertClosed();
  });

  it("ends when its reader stalls, after reading one chunk of the feed at most", async () => {
    const { clock, feed, next, assertOpen, assertClosed } = setUp();
    await next();
    const reading = next();
    feed.put("a;");
    await reading;
    const { reads } = feed;
    for (let i = 0; i < 1_000; i++) feed.put("b;");
    clock.advance(TIMES.stallTimeout - 1);
    assertOpen();
    assert.equal(feed.reads, reads);
    clock.advance(1);
    assertClosed();
    assert.equal(feed.reads, reads);
    assert.equal(feed.ready.length, 2_000);
  });

  it("releases everything when its reader leaves, at any moment", async () => {
    for (const moment of ["before the first chunk", "between chunks", "while it waits"]) {
      const { feed, next, reader, assertClosed } = setUp();
      if (moment !== "before the first chunk") await next();
      const reading = moment === "while it waits" ? next() : undefined;
      await reader.cancel();
      await reading;
      assertClosed();
      feed.put("nobody hears this;");
      feed.finish();
      assertClosed();
    }
  });

  it("sends what is ready before it ends", async () => {
    const { feed, next, stream, assertClosed } = setUp();
    feed.put("rest;");
    stream.end();
    assertClosed();
    assert.equal(await next(), "first;" + frame("rest;"));
    assert.equal(await next(), undefined);
  });

  it("ends and closes only once", async () => {
    const { next, stream, reader, assertClosed } = setUp();
    await next();
    const reading = next();
    stream.end();
    stream.end();
    stream.close();
    assert.equal(await reading, undefined);
    await reader.cancel();
    assertClosed();
  });
});
