/**
 * One request that waits on a run: what it has to tell until the run ends, stops
 * to ask, or becomes a task. It holds the run for as long as it waits.
 *
 * The questions of a run that does one thing at a time go out the moment it
 * waits for them. Where several parts are at work, a short quiet window lets
 * their questions go out together.
 *
 * F1  How the run stands is looked at again with every event, until it is answered:
 *     a question may be taken back before anybody has heard of it.
 * F2  After the response nothing is sent, and leaving changes nothing.
 */
import type { Deadline } from "../../lib/deadlines.ts";
import { INVALID_REQUEST } from "../../model/rpc-codes.ts";
import type { LogReader } from "../../session/pace.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import {
  encodeNotice,
  encodeNotification,
  encodeProgress,
  type ModernCall,
} from "../../wire/modern/encode.ts";
import type { RpcId } from "../../wire/json-rpc.ts";
import type { RequestMeta } from "../../wire/modern/meta.ts";
import { lostNotice } from "../../wire/notice.ts";
import type { ServerCore } from "../core.ts";
import { type Feed, HeartbeatInterval, type Send } from "../feed.ts";
import {
  busy,
  type OpenStream,
  type Refused,
  refused,
  type ReplyStream,
  type SharedStream,
  textOf,
  type Value,
} from "../reply.ts";
import { MODERN_ERRORS } from "./refusals.ts";
import { beginTask, isTask } from "./tasks.ts";

/** How a request's wait can end. */
export type RunState = "ended" | "asking" | "task" | "left";

const QUIET_WINDOW = 20;

export class RunFeed implements Feed, ModernCall, ReplyStream, SharedStream {
  readonly progressToken;
  readonly logLevel;
  progress = -Infinity;
  readonly session: LiveToolSession;
  readonly #core: ServerCore;
  readonly id: RpcId;
  readonly #answer: (state: RunState) => Value | Refused;
  readonly #asTask: boolean;
  #watchers: Set<() => void> | undefined;
  #cursor: number;
  #reader: LogReader | undefined;
  #state: RunState | undefined;
  /** Notifications that were read to decide how the reply travels. */
  #news: readonly string[] = [];
  #window: Deadline | undefined;
  #quiet = false;
  /** Whether the task that it has become is on record. */
  #kept: boolean | undefined;
  #unwatch: (() => void) | undefined;
  #answered = false;
  #heartbeats: HeartbeatInterval | undefined;

  /** `answer` makes the response once it is known how the run stands. */
  constructor(
    core: ServerCore,
    session: LiveToolSession,
    meta: RequestMeta,
    after: number,
    asTask: boolean,
    id: RpcId,
    answer: (state: RunState) => Value | Refused,
  ) {
    this.#core = core;
    this.session = session;
    this.progressToken = meta.progressToken;
    this.logLevel = meta.logLevel;
    this.#cursor = after;
    this.#asTask = asTask;
    this.id = id;
    this.#answer = answer;
    // One that has ended need not be held: all that it has to say is there.
    if (!session.outcome) {
      core.registry.hold(session);
      this.#unwatch = session.log.watch(() => this.#look());
      this.#reader = session.log.attach(after);
    }
    this.#look();
  }

  get done(): boolean {
    return this.#answered;
  }

  /** Notifications that are ready, without their frames. */
  notifications(): string[] {
    const messages: string[] = [];
    const { log } = this.session;
    // A reader that is too far behind has lost nothing but news.
    const lost = log.firstLSN - 1 - this.#cursor;
    if (lost > 0) {
      this.#cursor += lost;
      const notice = encodeNotice(lostNotice(lost), this);
      if (notice !== undefined) messages.push(notice);
    }
    for (const event of log.after(this.#cursor)) {
      this.#cursor = event.lsn;
      const message = encodeNotification(event, this);
      if (message !== undefined) messages.push(message);
    }
    this.#reader?.taken(this.#cursor);
    return messages;
  }

  // -------------------------------------------------------------- as a reply

  get principal(): string {
    return this.session.principal;
  }

  get decided(): boolean {
    return this.#state !== undefined || this.#news.length > 0;
  }

  watchDecision(wake: () => void): () => void {
    return this.watch(() => {
      this.#readNews();
      wake();
    });
  }

  whole(): Value | Refused | undefined {
    this.#readNews();
    return this.#state && this.#news.length === 0 ? this.#respond() : undefined;
  }

  #readNews(): void {
    const news = this.notifications();
    if (news.length > 0) this.#news = [...this.#news, ...news];
  }

  leave(): Refused | undefined {
    if (this.#state) return undefined;
    this.release();
    // Nobody reads this; HTTP needs some status.
    const problem = "Cannot answer: the client has gone; send the request again";
    return refused(499, INVALID_REQUEST, problem, this.id);
  }

  refuse(problem: string): Refused {
    this.release();
    return busy(this.id, problem, MODERN_ERRORS);
  }

  open(): OpenStream {
    return {
      feed: this,
      first: this.#news,
      connected() {},
      closed: () => this.release(),
    };
  }

  get feed(): Feed {
    return this;
  }

  // --------------------------------------------------------------- as a feed

  /** The response. It ends the wait. */
  #respond(): Value | Refused {
    const state = this.#state!;
    const answer = this.#answer(state);
    this.#answered = true;
    this.release();
    const { session } = this;
    // Nobody has been told anything to come back with.
    if (state === "ended" && session.keepUntil === 0) this.#core.registry.forget(session);
    return answer;
  }

  read(send: Send): void {
    for (const message of this.notifications()) send(message);
    if (this.#state && !this.#answered) send(textOf(this.#respond()));
  }

  watch(wake: () => void): () => void {
    const watcher = () => wake();
    const watchers = this.#watchers ??= new Set();
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }

  heartbeat(silence: number, send: Send): void {
    this.#heartbeats ??= new HeartbeatInterval(this.#core.limits.heartbeatInterval);
    if (!this.#heartbeats.isDue(silence)) return;
    const message = encodeProgress(this, -Infinity);
    if (message !== undefined) send(message);
  }

  /** Lets the run go. Whoever leaves while it is at work, as the last one, stops it. */
  release(): void {
    if (!this.#unwatch) return;
    this.#unwatch();
    this.#unwatch = undefined;
    this.#reader?.detach();
    this.#window?.cancel();
    const { session } = this;
    this.#core.registry.letGo(session);
    if (this.#answered || session.holders > 0 || session.outcome) return;
    // A question whose state has gone out can still be answered; any other run is lost.
    const told = session.keepUntil > this.#core.deadlines.now();
    if (told && session.openRequests().length > 0) return;
    // One that can be taken up again, by somebody who knows how to ask for it, only rests.
    if (told && session.replayable) this.#core.registry.suspend(session);
    else session.halt("the client closed the connection", "caller");
  }

  #look(): void {
    if (this.#answered) return;
    this.#state = this.#stand();
    if (this.#watchers) { for (const watcher of [...this.#watchers]) watcher(); }
  }

  #stand(): RunState | undefined {
    const { session } = this;
    if (session.outcome) return "ended";
    // With somebody waiting, only where the server goes, or another one has gone on with it.
    if (session.suspending) return "left";
    if (this.#asTask && isTask(session)) return this.#isKept() ? "task" : undefined;
    if (session.openRequests().length === 0) {
      this.#window?.cancel();
      this.#window = undefined;
      this.#quiet = false;
      return undefined;
    }
    if (this.#quiet || !session.concurrent) return "asking";
    this.#window ??= this.#core.deadlines.add(QUIET_WINDOW, () => {
      this.#window = undefined;
      this.#quiet = true;
      this.#look();
    });
    return undefined;
  }

  /** Makes a task of it, and tells whether that is on record. */
  #isKept(): boolean {
    if (this.#kept !== undefined) return this.#kept;
    beginTask(this.#core, this.session);
    const secured = this.#core.registry.secured(this.session);
    this.#kept = secured === undefined;
    // Where it cannot be kept, the run ends, and everybody is told so.
    secured?.then((kept) => {
      this.#kept = kept;
      if (kept) this.#look();
    });
    return this.#kept;
  }
}
