/**
 * A request that waits for a run. It sends the run's notifications, and its response when the run
 * ends, asks a question, or becomes a task. The request holds the run in memory while it waits.
 *
 * The questions of a sequential run are sent as soon as the run waits for them. If branches run
 * concurrently, the response waits for a short quiet window, so that their questions are sent
 * together.
 *
 * WAIT-1  The run's state is determined again with every event until the response is sent, because
 *         a question may be withdrawn before that.
 * WAIT-2  Nothing is sent after the response, and a later disconnect has no effect.
 */
import type { Deadline } from "../../lib/deadlines.ts";
import type { ClientInfo } from "../../model/events.ts";
import type { Principal } from "../../model/principal.ts";
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
import { Hold, QUIET_WINDOW, WAITS_FOR_PERSON } from "../doors/hold.ts";
import { holdTime } from "../doors/travel.ts";
import { type Feed, type FeedConnection, HeartbeatInterval, type Send } from "../feed.ts";
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

/** The reason why the response can be sent. */
export type RunState = "ended" | "asking" | "task" | "left" | "revoked";

export class RunFeed implements Feed, ModernCall, ReplyStream, SharedStream {
  readonly progressToken;
  readonly logLevel;
  progress = -Infinity;
  readonly session: LiveToolSession;
  /** The caller of the request, if the server identifies its callers. */
  who: Principal | undefined;
  readonly #core: ServerCore;
  readonly id: RpcId;
  readonly #answer: (state: RunState) => Value | Refused;
  readonly #asTask: boolean;
  readonly #client: ClientInfo;
  /** True for a call of `continue_call`. */
  readonly #continues: boolean;
  #hold: Hold | undefined;
  #watchers: Set<() => void> | undefined;
  #cursor: number;
  #reader: LogReader | undefined;
  #state: RunState | undefined;
  /** Notifications that have been read from the log, and not sent. */
  #news: string[] = [];
  #window: Deadline | undefined;
  #quiet = false;
  /** True if the run has become a task, and the task is stored. */
  #kept: boolean | undefined;
  #unwatch: (() => void) | undefined;
  #answered = false;
  #heartbeats: HeartbeatInterval | undefined;

  /** `answer` creates the response for the state that the run has reached. */
  constructor(
    core: ServerCore,
    session: LiveToolSession,
    meta: RequestMeta,
    after: number,
    asTask: boolean,
    id: RpcId,
    answer: (state: RunState) => Value | Refused,
    continues = false,
  ) {
    this.#core = core;
    this.session = session;
    this.progressToken = meta.progressToken;
    this.logLevel = meta.logLevel;
    this.#cursor = after;
    this.#asTask = asTask;
    this.id = id;
    this.#answer = answer;
    this.#client = meta.client;
    this.#continues = continues;
    // A run that has ended needs no hold: its log is complete.
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

  /** Adds the notifications that are ready to `#news`. */
  #readNews(): void {
    const { log } = this.session;
    // A reader that is too far behind loses only notifications. Questions are never lost.
    const lost = log.firstLSN - 1 - this.#cursor;
    if (lost > 0) {
      this.#cursor += lost;
      const notice = encodeNotice(lostNotice(lost), this);
      if (notice !== undefined) this.#news.push(notice);
    }
    for (const event of log.after(this.#cursor)) {
      this.#cursor = event.lsn;
      const message = encodeNotification(event, this);
      if (message !== undefined) this.#news.push(message);
    }
    if (this.#reader) log.taken(this.#reader, this.#cursor);
  }

  /** Returns the notifications that have been read, and forgets them. */
  #takeNews(): readonly string[] {
    const news = this.#news;
    this.#news = [];
    return news;
  }

  // Methods of `ReplyStream`.

  get principal(): string {
    return this.session.principal;
  }

  get decided(): boolean {
    this.#readNews();
    return this.#state !== undefined || this.#news.length > 0;
  }

  whole(): Value | Refused | undefined {
    this.#readNews();
    return this.#state && this.#news.length === 0 ? this.#respond() : undefined;
  }

  leave(): Refused | undefined {
    if (this.#state) return undefined;
    this.release();
    // The client has disconnected and cannot read this response, but HTTP needs a status.
    const problem = "Cannot answer: the client disconnected; send the request again";
    return refused(499, INVALID_REQUEST, problem, this.id);
  }

  refuse(problem: string): Refused {
    this.release();
    return busy(this.id, problem, MODERN_ERRORS);
  }

  open(): OpenStream {
    let stopWatching: (() => void) | undefined;
    return {
      feed: this,
      first: this.#takeNews(),
      connected: (connection) => {
        if (!this.who) return;
        const { access, deadlines } = this.#core;
        stopWatching = access.whenEnded(this.who, deadlines, (why) => {
          if (why === "revoked") this.#revoke(connection);
        });
      },
      closed: () => {
        stopWatching?.();
        this.release();
      },
    };
  }

  /** Ends the request as if its client had disconnected: its token is no longer valid (ACCESS-5). */
  #revoke(connection: FeedConnection): void {
    if (!this.#answered && this.#unwatch) {
      this.release();
      this.#state = "revoked";
    }
    connection.end();
  }

  // Methods of `Feed`.

  /** Creates the response, and stops waiting for the run (WAIT-2). */
  #respond(): Value | Refused {
    const state = this.#state!;
    const answer = this.#answer(state);
    this.#answered = true;
    this.release();
    const { session } = this;
    // The client has no request state, so no client can resume the run.
    if (state === "ended" && session.keepUntil === 0) this.#core.registry.forget(session);
    return answer;
  }

  read(send: Send): void {
    this.#readNews();
    for (const message of this.#takeNews()) send(message);
    if (this.#state && !this.#answered) send(textOf(this.#respond()));
  }

  watch(wake: () => void): () => void {
    const watcher = () => wake();
    const watchers = this.#watchers ??= new Set();
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }

  get heartbeatAfter(): number | undefined {
    return this.progressToken === undefined ? undefined : this.#core.limits.heartbeatInterval;
  }

  heartbeat(silence: number, send: Send): void {
    this.#heartbeats ??= new HeartbeatInterval(this.#core.limits.heartbeatInterval);
    if (!this.#heartbeats.isDue(silence)) return;
    const message = encodeProgress(this, -Infinity);
    if (message !== undefined) send(message);
  }

  /** Releases the run. If no other request waits for a run that still works, stops the run. */
  release(): void {
    if (!this.#unwatch) return;
    this.#unwatch();
    this.#unwatch = undefined;
    const { session } = this;
    if (this.#reader) session.log.detach(this.#reader);
    this.#window?.cancel();
    this.#hold?.cancel();
    this.#core.registry.letGo(session);
    if (this.#answered || session.holders > 0 || session.outcome || session.deferred) return;
    // A client that has a request state can still answer the open questions.
    const told = session.keepUntil > this.#core.deadlines.now();
    if (told && session.openRequests().length > 0) return;
    // If the client has a request state and the run can be replayed, suspend it. Otherwise cancel it.
    if (told && session.replayable) this.#core.registry.suspend(session);
    else session.halt("the client closed the connection", "caller");
  }

  /** Determines the state of the run again (WAIT-1), and wakes the watchers. */
  #look(): void {
    if (this.#answered) return;
    this.#state = this.#stand();
    if (this.#watchers) { for (const watcher of [...this.#watchers]) watcher(); }
  }

  #stand(): RunState | undefined {
    const { session } = this;
    if (session.outcome) return "ended";
    // While a request waits, a run is suspended only if the server shuts down, or if another server
    // has taken over the run.
    if (session.suspending) return "left";
    if (this.#asTask && isTask(session)) return this.#isKept() ? "task" : undefined;
    if (session.openRequests().length === 0) {
      this.#window?.cancel();
      this.#window = undefined;
      this.#quiet = false;
      return undefined;
    }
    if (this.#quiet || !session.concurrent) {
      const ms = holdTime(this.#core, session, this.#client, this.#continues);
      if (ms === 0) return "asking";
      // The answer may come from a page or an app view while the request waits.
      if (!this.#hold) this.#tellWait();
      this.#hold ??= new Hold(session);
      return this.#hold.isOver(ms) ? "asking" : undefined;
    }
    this.#window ??= this.#core.deadlines.add(QUIET_WINDOW, () => {
      this.#window = undefined;
      this.#quiet = true;
      this.#look();
    });
    return undefined;
  }

  /**
   * Sends a progress message while the call waits for the person, because some hosts soon give up
   * on a call without progress.
   */
  #tellWait(): void {
    const message = encodeProgress(this, -Infinity, undefined, WAITS_FOR_PERSON);
    if (message !== undefined) this.#news.push(message);
  }

  /** Makes the run a task. Returns true if the task is stored. */
  #isKept(): boolean {
    if (this.#kept !== undefined) return this.#kept;
    beginTask(this.#core, this.session);
    const secured = this.#core.registry.secured(this.session);
    this.#kept = secured === undefined;
    // If the task cannot be stored, the run ends, and every waiting request gets an error.
    secured?.then((kept) => {
      this.#kept = kept;
      if (kept) this.#look();
    });
    return this.#kept;
  }
}
