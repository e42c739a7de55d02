/**
 * Sessions, readers and answers under random events, and what must be true of them afterwards.
 * `properties.test.ts` decides what happens.
 */
import assert from "node:assert/strict";
import {
  action,
  all,
  type Operation,
  race,
  run,
  spawn,
  suspend,
  type Task,
  until,
} from "effection";
import { EventsGoneError } from "../../src/model/errors.ts";
import { type AnswerOutcome, isFinal, type ToolSessionEvent } from "../../src/model/events.ts";
import { LiveToolSessionRegistry } from "../../src/registry/registry.ts";
import type { LiveToolSession } from "../../src/session/tool-session.ts";
import type { ToolSessionStore } from "../../src/store/types.ts";
import { createManualClock } from "../../src/testing/manual-clock.ts";
import { HandStore } from "../support/hand-store.ts";
import { asDurable, idle, tool, until as turnsUntil } from "../support/registry.ts";

/** Milliseconds that a finished session is kept. */
const GRACE = 400;

/** One reader, which reads as many events as it is allowed to. */
class PacedReader {
  readonly events: ToolSessionEvent[] = [];
  readonly #task: Task<void>;
  #allowed = 0;
  #allow = () => {};
  outcome: unknown;
  error: unknown;
  left = false;

  constructor(
    readonly watched: Watched,
    readonly from: number,
    registry: LiveToolSessionRegistry,
    react: (event: ToolSessionEvent) => void,
  ) {
    const reader = this;
    this.#task = run(function* () {
      try {
        const subscription = yield* registry.handle(watched.session).getEvents(from);
        for (;;) {
          while (reader.#allowed === 0) yield* reader.#permission();
          const next = yield* subscription.next();
          if (next.done) {
            reader.outcome = next.value;
            return;
          }
          reader.#allowed--;
          reader.events.push(next.value);
          react(next.value);
        }
      } catch (error) {
        reader.error = error;
      }
    });
  }

  get cursor(): number {
    return this.events.at(-1)?.lsn ?? this.from;
  }

  get done(): boolean {
    return this.left || this.outcome !== undefined || this.error !== undefined;
  }

  read(count: number): void {
    this.#allowed += count;
    this.#allow();
  }

  async leave(): Promise<void> {
    if (!this.done) this.left = true;
    await this.#task.halt();
  }

  #permission(): Operation<void> {
    return action<void>((resolve) => {
      this.#allow = resolve;
      return () => this.#allow = () => {};
    });
  }
}

/** A session with a watcher that misses nothing. */
interface Watched {
  session: LiveToolSession;
  /** Every event that ever became visible. */
  readonly seen: ToolSessionEvent[];
  readonly accepted: Map<string, number>;
  /** The numbers that the tool received. */
  readonly received: number[];
  /** How many watchers the log has now. */
  watchers: number;
  /** True if it was cancelled while it waited. */
  cancelled: boolean;
}

/** What a reader does when a question is asked. */
export type Reaction = "none" | "answer" | "cancel";

export class World {
  readonly clock = createManualClock();
  readonly registry: LiveToolSessionRegistry;
  readonly watched: Watched[] = [];
  readonly readers: PacedReader[] = [];
  readonly cancels: PromiseLike<void>[] = [];
  entered = 0;
  left = 0;
  readonly faults: string[] = [];
  #answers = 0;

  constructor(readonly store: ToolSessionStore | undefined, maxEvents: number) {
    this.registry = new LiveToolSessionRegistry({
      clock: this.clock,
      limits: {
        maxSessions: 5,
        maxFinishedSessions: 3,
        finishedTimeToLive: GRACE,
        waitingTimeToLive: 900,
        passivateAfter: Infinity,
        maxEventsPerSession: maxEvents,
      },
      report: ({ what }) => this.faults.push(what),
      ...(store && { store }),
    });
  }

  /** Starts a tool; `early` decides what a reader of its very first question does. */
  start(which: number, early: Reaction): void {
    if (this.registry.counts.live === 5) return;
    const one: Watched = {
      session: undefined as unknown as LiveToolSession,
      seen: [],
      accepted: new Map(),
      received: [],
      watchers: 0,
      cancelled: false,
    };
    this.watched.push(one);
    const tool = this.#tool(which, one, early);
    this.registry.open(this.store ? asDurable(tool) : tool, {});
  }

  /** Called in the tool's first step, before anything is visible. */
  #witness(one: Watched, session: LiveToolSession, early: Reaction): void {
    one.session = session;
    const look = () => {
      for (
        let event = session.log.next(one.seen.length);
        event;
        event = session.log.next(one.seen.length)
      ) one.seen.push(event);
    };
    session.log.watch(look);
    const react = session.log.watch(() => {
      const first = one.seen.find(({ type }) => type === "elicit_request");
      if (!first) return;
      react();
      this.#react(one, first, early);
    });
    const watch = session.log.watch.bind(session.log);
    session.log.watch = (wake) => {
      const unwatch = watch(wake);
      one.watchers++;
      let watching = true;
      return () => {
        if (watching) one.watchers--;
        watching = false;
        unwatch();
      };
    };
  }

  #react(one: Watched, event: ToolSessionEvent, reaction: Reaction): void {
    if (event.type !== "elicit_request") return;
    if (reaction === "answer") this.#respond(one, [event.id], true);
    if (reaction !== "cancel") return;
    const { session } = one;
    one.cancelled ||= session.openRequests().length > 0 && !session.halting;
    session.halt("a reader has had enough");
  }

  /** Sends an answer to one session's question to another session, which may be the same. */
  answer(from: Watched, to: Watched, nth: number, valid: boolean): void {
    const asked = from.seen.filter(({ type }) => type === "elicit_request");
    const { id } = (asked[nth % asked.length] ?? { id: "nonsense" }) as { id: string };
    this.#respond(to, [id], valid);
  }

  answerAll(to: Watched): void {
    this.#respond(to, to.session.openRequests().map(({ id }) => id), true);
  }

  #respond(to: Watched, ids: string[], valid: boolean): void {
    const answers = ids.map((requestId) => {
      const n = ++this.#answers;
      const content = { n: valid ? n : `not ${n}` };
      return { requestId, response: { action: "accept" as const, content } };
    });
    const own = new Set(to.seen.map((event) => "id" in event ? event.id : ""));
    // Counted before they are sent: everything that follows may happen inside the call.
    const outcomes: AnswerOutcome[] = to.session.respondAll(answers);
    outcomes.forEach((outcome, i) => {
      const { requestId } = answers[i]!;
      if (outcome !== "accepted") return;
      assert.ok(own.has(requestId), "it was asked here");
      to.accepted.set(requestId, (to.accepted.get(requestId) ?? 0) + 1);
    });
  }

  join(one: Watched, from: number, reaction: Reaction): void {
    const start = Math.min(from, one.seen.length);
    this.readers.push(
      new PacedReader(one, start, this.registry, (event) => this.#react(one, event, reaction)),
    );
  }

  cancel({ session }: Watched): void {
    this.cancels.push(run(() => this.registry.handle(session).cancel()));
  }

  /** Ends everything, one by one if `gently`, and checks the invariants. */
  async end(gently: boolean): Promise<void> {
    if (this.store instanceof HandStore) this.store.release();
    for (const reader of this.readers) reader.read(Infinity);
    await idle();
    for (const { session } of this.watched) {
      assert.ok(session.outcome || session.openRequests().length > 0, "it waits for nobody");
    }
    // Closing leaves durable sessions without an end, which is not tested here.
    if (gently || this.store) {
      for (const one of this.watched) this.cancel(one);
      await turnsUntil(() => this.registry.counts.live === 0);
      // One timer serves all finished sessions; those that nobody holds go with it.
      const held = this.watched.filter(({ session }) =>
        this.registry.find(session.id) && session.holders > 0
      );
      this.clock.advance(GRACE);
      const { finished, deadlines } = this.registry.counts;
      assert.equal(
        finished,
        held.length,
        "one is kept that nobody holds, or one that is held is not",
      );
      assert.ok(deadlines <= (finished > 0 ? 1 : 0), "a deadline is left");
    }
    await this.registry.close();
    await Promise.all(this.cancels);
    await turnsUntil(() => this.readers.every(({ done }) => done));
    for (const one of this.watched) await this.#check(one);
    for (const reader of this.readers) this.#checkReader(reader);
    assert.equal(this.left, this.entered, "a generator is still running");
    assert.deepEqual(this.registry.counts, { live: 0, finished: 0, deadlines: 0 });
    assert.equal(this.clock.timers, 0, "a timer is left");
    const failed = this.watched.filter(({ session }) => session.outcome?.status === "failed");
    assert.deepEqual(this.faults, failed.map(() => "the events of the call could not be stored"));
  }

  async #check({ session, seen, accepted, received, watchers, cancelled }: Watched): Promise<void> {
    assert.deepEqual(seen.map(({ lsn }) => lsn), seen.map((_, index) => index + 1));
    assert.equal(seen.filter(isFinal).length, 1, "it ends once");
    assert.ok(isFinal(seen.at(-1)!), "and with its end");
    assert.equal(watchers, 0, "somebody still watches");
    assert.deepEqual(session.openRequests(), []);
    if (cancelled) assert.notEqual(session.outcome?.status, "completed");
    const lost = session.outcome?.status === "failed";
    const answers = seen.filter((event) => event.type === "answer");
    if (!lost) {
      for (const event of seen) {
        if (event.type !== "elicit_request") continue;
        const closed = seen.filter((other) =>
          (other.type === "answer" || other.type === "withdrawn") && other.requestId === event.id
        );
        assert.equal(closed.length, 1, "a question is answered or withdrawn, once");
        assert.ok(closed[0]!.lsn > event.lsn);
      }
      assert.deepEqual(
        [...accepted].sort(),
        answers.map(({ requestId }) => [requestId, 1]).sort(),
        "what was accepted is on record, and nothing else",
      );
    }
    const given = answers.map(({ response }) =>
      (response as unknown as { content: { n: unknown } }).content.n
    );
    assert.equal(new Set(received).size, received.length, "no answer reached the tool twice");
    for (const n of received) {
      assert.ok(given.includes(n), "nor without being on record (QUESTION-2)");
    }
    if (this.store) {
      // A session that the registry has forgotten is not in the store either.
      const store = this.store;
      const stored = await run(() => store.read(session.id));
      if (stored.length > 0) assert.deepEqual(stored, seen);
    }
  }

  #checkReader({ watched: { seen, session }, events, from, cursor, ...reader }: PacedReader): void {
    assert.deepEqual(events, seen.slice(from, from + events.length), "what everybody saw");
    if (reader.error !== undefined) {
      assert.ok(reader.error instanceof EventsGoneError, String(reader.error));
      assert.ok(reader.error.firstLSN > cursor + 1, "it was told so only if they are gone");
    } else if (reader.outcome !== undefined) {
      assert.equal(cursor, seen.length, "it was told all of it");
      assert.equal(reader.outcome, session.outcome);
    }
  }

  #tool(which: number, one: Watched, early: Reaction) {
    const world = this;
    const { received } = one;
    function* within<T>(body: () => Operation<T>, cleaning?: () => Operation<void>): Operation<T> {
      world.entered++;
      try {
        return yield* body();
      } finally {
        // A halt during a finally that waits cuts the rest of that finally off.
        try {
          if (cleaning) yield* cleaning();
        } finally {
          world.left++;
        }
      }
    }
    // deno-lint-ignore no-explicit-any
    function* ask(ctx: any, key: string, timeout?: number): Operation<void> {
      const { content } = yield* ctx.elicit(key, { message: "?" }, timeout ? { timeout } : {});
      if (content) received.push(content.n);
    }
    // deno-lint-ignore no-explicit-any
    const bodies: ((ctx: any) => Operation<unknown>)[] = [
      function* sequential(ctx) {
        for (let n = 0; n < 3; n++) yield* ask(ctx, "n");
        return "sequential";
      },
      function* together(ctx) {
        yield* all(["n", "m", "n"].map((key) =>
          ctx.branch((inner: unknown) =>
            within(function* () {
              yield* ask(inner, key);
              yield* ask(inner, key, 300);
            })
          )
        ));
        return "together";
      },
      function* racing(ctx) {
        yield* race(
          ["n", "m"].map((key) => ctx.branch((inner: unknown) => within(() => ask(inner, key)))),
        );
        yield* ask(ctx, "n", 200);
        return "racing";
      },
      function* tidy(ctx) {
        yield* within(
          () => ask(ctx, "n"),
          function* () {
            yield* ctx.notify("not told if it is being halted");
            yield* until(Promise.resolve());
            yield* within(function* () {
              yield* until(Promise.resolve());
            });
          },
        );
        yield* ask(ctx, "m");
        return "tidy";
      },
      function* bursts(ctx) {
        for (let n = 0; n < 3; n++) {
          for (let k = 0; k < 4; k++) yield* ctx.notify(`${k}`);
          yield* ask(ctx, "n", 100);
        }
        return "bursts";
      },
      function* parenting(ctx) {
        yield* spawn(() => within(() => ask(ctx, "m")));
        yield* spawn(() => within(() => suspend()));
        yield* ask(ctx, "n");
        return "parenting";
      },
      function* brief(ctx) {
        yield* ctx.notify("and done");
        return "brief";
      },
      function* limited(ctx) {
        yield* ctx.branch((inner: unknown) => within(() => ask(inner, "n")), { timeout: 250 });
        return "limited";
      },
    ];
    const body = bodies[which % bodies.length]!;
    return tool(function* (ctx) {
      world.#witness(one, world.registry.find(ctx.sessionId)!, early);
      return yield* within(() => body(ctx));
    }, which % 2 ? { timeout: 700 } : {});
  }
}
