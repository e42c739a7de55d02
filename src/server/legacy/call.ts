/**
 * One call of a legacy client: links the JSON-RPC request to the tool session that runs it.
 *
 * CALL-1  Only the call changes its state: `begin` and `restore` set its session, the callbacks of
 *         `SessionOwner` report what happens to the session, and readers move the cursor.
 * CALL-2  A call whose session is not in memory knows when the session was last seen (`seenAt`).
 */
import type { JsonObject } from "../../model/content.ts";
import {
  isFinal,
  type LogLevel,
  type ToolSessionEvent,
  type ToolSessionRequest,
} from "../../model/events.ts";
import { INTERNAL_ERROR } from "../../model/rpc-codes.ts";
import type { LogReader } from "../../session/pace.ts";
import type { SessionOwner } from "../../session/session-home.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { Definition } from "../../tool/types.ts";
import { errorText, resultText, type RpcId } from "../../wire/json-rpc.ts";
import {
  encodeEvent,
  encodeHeartbeat,
  encodeNotice,
  type LegacyCall,
  ProgressTrack,
  resultFor,
} from "../../wire/legacy/encode.ts";
import { lostNotice } from "../../wire/notice.ts";
import { type LegacyVersion, since } from "../../wire/versions.ts";
import { continuedResult } from "../doors/call-state.ts";
import { asksElsewhere, defer } from "../doors/deferral.ts";
import { Hold, QUIET_WINDOW, WAITS_FOR_PERSON } from "../doors/hold.ts";
import { CallPatience } from "../doors/patience.ts";
import { asSent, canDefer, holdTime, travelling, travels } from "../doors/travel.ts";
import type { Feed, Send } from "../feed.ts";
import type { SharedStream } from "../reply.ts";
import { formViewOf } from "../views.ts";
import type { ClientSession } from "./client-session.ts";
import { completionText } from "./completions.ts";
import type { CallStream } from "./stream.ts";

/** The message for a client whose call was lost in a restart. */
export const CALL_LOST =
  "Cannot continue the call: the server was restarted, and calls of this tool do not survive a restart; call it again";

export class Call implements LegacyCall, SessionOwner, Feed, SharedStream {
  readonly id: RpcId;
  readonly client: ClientSession;
  readonly progressToken: RpcId | undefined;
  #progress: ProgressTrack | undefined;
  /** The session's id, while the session is not in memory. */
  #sessionId = "";
  #durable = false;
  #session: LiveToolSession | undefined;
  #lost = false;
  #lossTold = false;
  #seenAt: number | undefined;
  #tool: Definition | undefined;
  #isGone = false;
  #hungUp = false;
  #reader: LogReader | undefined;
  /** The stream on which the call's messages are sent, if there is one. */
  #stream: CallStream | undefined;
  #cursor = 0;
  /** The LSN after which this call reads the log. More than 0 if it continues a deferred call. */
  #start = 0;
  /** True for a call of `continue_call`. The run can continue after this call. */
  #continues = false;
  /** The deferral that ended this call before its run, and the LSN that it was sent with. */
  #deferral: { readonly text: string; readonly lsn: number } | undefined;
  /** The questions that this call has sent. Undefined if all are sent as soon as they are asked. */
  #sent: Set<string> | undefined;
  /** The owner of the run before this call. */
  #former: SessionOwner | undefined;
  #hold: Hold | undefined;
  /** True if the client was told that this call waits for the person. */
  #waitTold = false;
  #patience: CallPatience | undefined;

  constructor(id: RpcId, client: ClientSession, meta: JsonObject | undefined) {
    this.id = id;
    this.client = client;
    const token = meta?.progressToken;
    this.progressToken = typeof token === "string" || typeof token === "number" ? token : undefined;
  }

  /** Sets the session of a new call (CALL-1). */
  begin(session: LiveToolSession): void {
    this.#session = session;
    this.#tool = session.tool;
    this.#durable = session.durable;
  }

  /** Restores a call after a restart. `revive` loads its session. */
  restore(sessionId: string, durable: boolean, seenAt: number): void {
    this.#sessionId = sessionId;
    this.#durable = durable;
    this.#seenAt = seenAt;
  }

  get progress(): ProgressTrack {
    return this.#progress ??= new ProgressTrack();
  }

  /** The session of the call. Throws if the session is not in memory; `revive` loads it. */
  get session(): LiveToolSession {
    if (!this.#session) {
      throw new TypeError(
        `Cannot use session ${this.sessionId}: it is not in memory; call revive() first`,
      );
    }
    return this.#session;
  }

  /** Continues a deferred call: takes over its run, and reads its log after an LSN. */
  continue(session: LiveToolSession, after: number): void {
    this.#continues = true;
    this.#start = this.#cursor = after;
    this.begin(session);
    this.#sent = new Set();
    if (session.outcome) return;
    const owner = session.belongTo(this);
    if (owner instanceof Call) {
      this.#former = owner.#former;
      owner.gone();
    } else this.#former = owner;
  }

  /** The tool of the call. Undefined for a restored call until `revive` has found its session. */
  get tool(): Definition | undefined {
    return this.#tool;
  }

  /** The session's id, also while the session is not in memory. */
  get sessionId(): string {
    return this.#session?.id ?? this.#sessionId;
  }

  /** True if the session can be replayed after it has left memory, or after a restart. */
  get durable(): boolean {
    return this.#durable;
  }

  /** True if the session was lost in a restart before it ended. */
  get lost(): boolean {
    return this.#lost;
  }

  /** When the session was last known to exist (CALL-2). Undefined while it is in memory. */
  get seenAt(): number | undefined {
    return this.#seenAt;
  }

  /** True if the registry has removed the call's session. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** True if the call has ended with a deferral. Its run continues. */
  get deferred(): boolean {
    return this.#deferral !== undefined;
  }

  /** The LSN up to which the messages of the call have been read. */
  get cursor(): number {
    return this.#cursor;
  }

  /** True if the call's session is in memory. */
  get isHere(): boolean {
    return this.#session !== undefined && !this.#session.suspending;
  }

  get version(): LegacyVersion {
    return this.client.version;
  }

  get logLevel(): LogLevel {
    return this.client.logLevel;
  }

  get usesTools(): boolean {
    return this.client.info.capabilities.sampling?.tools !== undefined;
  }

  get formView(): string | undefined {
    return formViewOf(this.session.tool, this.client.info);
  }

  get usesUrls(): boolean {
    return this.client.info.capabilities.elicitation?.url !== undefined;
  }

  /** True if the log has reached an LSN. */
  hasPlace(cursor: number): boolean {
    if (this.#deferral) return cursor <= this.#deferral.lsn;
    return this.#lost || cursor <= this.session.log.lastLSN;
  }

  /** True if the call has ended, and a reader at `cursor` has read all of its events. */
  isReadTo(cursor: number): boolean {
    if (this.#deferral) return cursor >= this.#deferral.lsn;
    if (!this.#session) return this.#lossTold;
    return this.session.outcome !== undefined && cursor >= this.session.log.lastLSN;
  }

  /** True if messages follow after an LSN, now or later. */
  hasMoreAfter(lsn: number): boolean {
    if (this.#deferral) return lsn < this.#deferral.lsn;
    if (this.#lost) return !this.#lossTold;
    if (!this.session.outcome) return true;
    let more = false;
    this.#messagesAfter(lsn, () => more = true);
    return more;
  }

  /**
   * The only message of a call that has ended. Null if the call has no message. Undefined if the
   * call needs a stream, because it is still running or has several messages.
   */
  get onlyMessage(): string | null | undefined {
    const { outcome, log } = this.session;
    if (!outcome) return undefined;
    if (log.lastLSN === 1) return this.#encode(log.next(0)!) ?? null;
    let only: string | undefined;
    let count = 0;
    this.#messagesAfter(this.#start, (message) => {
      only = message;
      count++;
    });
    return count > 1 ? undefined : only ?? null;
  }

  /**
   * Sends the messages after an LSN, and returns the LSN of the last event read. Skips events that
   * the log has dropped. Open questions are always sent, because the call needs their answers.
   */
  #messagesAfter(
    lsn: number,
    send: (message: string, lsn: number | undefined) => void,
  ): number {
    if (this.#deferral) return this.#repeatDeferral(lsn, this.#deferral, send);
    if (!this.#session) return this.#tellLoss(lsn, send);
    const { log } = this.#session;
    let cursor = lsn;
    if (log.firstLSN > lsn + 1) cursor = this.#skipDropped(lsn, send);
    for (const event of log.after(cursor)) {
      cursor = event.lsn;
      const message = this.#encode(event);
      if (message !== undefined) send(message, cursor);
    }
    if (this.#session.outcome) return cursor;
    const open = this.#session.openRequests();
    if (open.length === 0) return cursor;
    this.#sendLate(open, send);
    if (!this.#mustDefer(open)) {
      if (this.#hold && !this.#waitTold) this.#tellWait(send);
      return cursor;
    }
    this.#defer(cursor + 1);
    send(this.#deferral!.text, cursor + 1);
    return cursor + 1;
  }

  /** Sends questions that were open before this call, or whose page was not open yet. */
  #sendLate(
    open: readonly ToolSessionRequest[],
    send: (message: string, lsn: undefined) => void,
  ): void {
    for (const request of open) {
      const isAtPage = request.type === "elicit_request" && request.door === "page";
      if (!this.#continues && !isAtPage || this.#sent?.has(request.id)) continue;
      const message = this.#encode({ ...request, lsn: 0 });
      if (message !== undefined) send(message, undefined);
    }
  }

  /**
   * Sends a progress message while the call waits for the person, because some hosts soon give up
   * on a call without progress.
   */
  #tellWait(send: (message: string, lsn: undefined) => void): void {
    this.#waitTold = true;
    const message = encodeHeartbeat(this, WAITS_FOR_PERSON);
    if (message !== undefined) send(message, undefined);
  }

  /** True if none of the open questions can be sent on this call's stream. */
  #mustDefer(open: readonly ToolSessionRequest[]): boolean {
    const session = this.#session!;
    const { core, info } = this.client;
    if (session.halting) return false;
    if (travelling(core, session, open, info).length > 0) {
      if (core.askPatience === undefined || this.#continues) return false;
      return (this.#patience ??= new CallPatience(core)).isOver(session, open, info);
    }
    if (!canDefer(session, open, info)) return false;
    this.#hold ??= new Hold(session);
    const held = holdTime(core, session, info, this.#continues);
    return this.#hold.isOver(Math.max(held, session.concurrent ? QUIET_WINDOW : 0));
  }

  /** Ends this call with a deferral. The run continues without it. */
  #defer(lsn: number): void {
    const { core, info, version } = this.client;
    const { session } = this;
    if (session.tool.kind === "resource") {
      const { rpcCode: code, message } = asksElsewhere(core, session);
      this.#deferral = { text: errorText(this.id, { code, message }), lsn };
    } else {
      const result = resultFor(version, defer(core, session, info, this.#continues));
      this.#deferral = { text: resultText(this.id, result), lsn };
    }
    this.#isOver();
  }

  #repeatDeferral(
    lsn: number,
    deferral: { readonly text: string; readonly lsn: number },
    send: (message: string, lsn: number) => void,
  ): number {
    if (lsn >= deferral.lsn) return lsn;
    for (const event of this.#session?.log.after(lsn) ?? []) {
      const message = event.lsn < deferral.lsn ? this.#encode(event) : undefined;
      if (message !== undefined) send(message, event.lsn);
    }
    if (deferral.text) send(deferral.text, deferral.lsn);
    return deferral.lsn;
  }

  /**
   * Sends the messages that have not been read. Moves `cursor` to an event before its message is
   * sent.
   */
  readEvents(send: (message: string, lsn: number | undefined) => void): void {
    this.#readTo(
      this.#messagesAfter(this.#cursor, (message, lsn) => {
        if (lsn !== undefined) this.#cursor = lsn;
        send(message, lsn);
      }),
    );
  }

  /** Moves the cursor, for a client that resumes the stream. */
  seek(lsn: number): void {
    this.#cursor = lsn;
    this.#sent?.clear();
  }

  /** Calls `wake` on each new event. Backpressure: from `cursor` on, the run waits for this reader. */
  watch(wake: () => void): () => void {
    const log = this.#session?.log;
    if (!log) return () => {};
    const unwatch = log.watch(wake);
    const reader = this.#reader = log.attach(this.#cursor);
    return () => {
      unwatch();
      log.detach(reader);
      if (this.#reader === reader) this.#reader = undefined;
    };
  }

  /** Moves `cursor` to the LSN up to which the messages have been read. */
  #readTo(lsn: number): void {
    this.#cursor = lsn;
    // A deferral is not in the log, so no event was taken.
    if (this.#deferral) return;
    this.#reader?.log.taken(this.#reader, lsn);
    // The client has received all messages, including the outcome.
    if (this.isReadTo(lsn)) this.#session?.markDelivered();
  }

  #tellLoss(lsn: number, send: (message: string, lsn: number) => void): number {
    if (!this.#lost || this.#lossTold) return lsn;
    this.#lossTold = true;
    send(errorText(this.id, { code: INTERNAL_ERROR, message: CALL_LOST }), lsn + 1);
    this.gone();
    return lsn + 1;
  }

  // Methods for a call on a shared channel.

  get heartbeatAfter(): number | undefined {
    return this.progressToken === undefined ? undefined : this.client.core.limits.heartbeatInterval;
  }

  /** Releases the session, which `receiveShared` holds. */
  release(): void {
    if (this.#session) this.client.core.registry.letGo(this.#session);
  }

  read(send: Send): void {
    this.#readTo(this.#messagesAfter(this.#cursor, (message) => send(message)));
  }

  get done(): boolean {
    return this.isReadTo(this.#cursor);
  }

  /** Sends a progress message, if the client asked for progress and the call is still running. */
  heartbeat(_silence: number, send: Send): void {
    const message = !this.#session || this.session.outcome ? undefined : encodeHeartbeat(this);
    if (message !== undefined) send(message);
  }

  /**
   * Tells the client how many events the log has dropped after an LSN. Returns the LSN of the last
   * of them.
   */
  #skipDropped(
    lsn: number,
    send: (message: string, lsn: number | undefined) => void,
  ): number {
    const { log } = this.session;
    const lastDropped = log.firstLSN - 1;
    const kept = log.after(lastDropped);
    const notice = encodeNotice(lostNotice(lastDropped - lsn), this);
    if (notice !== undefined) send(notice, undefined);
    for (const request of this.session.openRequests()) {
      if (kept.some((event) => "id" in event && event.id === request.id)) continue;
      const message = this.#encode({ ...request, lsn: 0 });
      if (message !== undefined) send(message, undefined);
    }
    return lastDropped;
  }

  /** Encodes a question. Undefined if it is asked at another door. */
  #encodeQuestion(event: ToolSessionRequest & ToolSessionEvent): string | undefined {
    const { core, info } = this.client;
    if (!travels(core, this.session, event, info)) return undefined;
    if (this.#continues || event.type === "elicit_request" && event.door) {
      (this.#sent ??= new Set()).add(event.id);
    }
    return encodeEvent(asSent(core, this.session, event), this);
  }

  /** Encodes an event. An encoding error is reported and does not break the stream. */
  #encode(event: ToolSessionEvent): string | undefined {
    try {
      if (this.#continues && isFinal(event) && this.session.tool.kind === "resource") {
        this.client.core.readings.taken(this.session);
      } else if (this.#continues && isFinal(event)) {
        const { outcome } = this.session;
        return resultText(this.id, resultFor(this.version, continuedResult(outcome!)));
      }
      if (event.type === "answer" && event.via === "page") {
        return completionText(this.client, this.session, event.requestId);
      }
      return "place" in event && "id" in event
        ? this.#encodeQuestion(event)
        : encodeEvent(event, this);
    } catch (error) {
      const { id: sessionId, toolName } = this.session;
      const what = `the event "${event.type}" could not be sent`;
      this.client.core.registry.report({ what, toolName, sessionId, error });
      if (!isFinal(event)) return undefined;
      return errorText(this.id, {
        code: INTERNAL_ERROR,
        message: "Cannot send the result: it cannot be converted to JSON; see the server's log",
      });
    }
  }

  /** Loads the session into memory. Undefined if the session is already in memory, or lost. */
  revive(): Promise<void> | undefined {
    if (this.isHere || this.#lost || this.#deferral) return undefined;
    const { registry } = this.client.core;
    return Promise.resolve(registry.lookup(this.sessionId)).then((session) => {
      if (!session) return this.#lose();
      this.begin(session);
      this.#seenAt = undefined;
      session.belongTo(this);
      if (session.outcome) this.#isOver();
    });
  }

  /** True if the session left memory, and was last seen before `time`. */
  isDoubtful(time: number): boolean {
    return !this.isHere && this.#seenAt !== undefined && this.#seenAt < time;
  }

  /** Checks whether the session still exists. If it does not, marks the call as lost. */
  async confirm(): Promise<void> {
    const { registry, deadlines } = this.client.core;
    if (!this.#lost && await registry.principalOf(this.sessionId) !== undefined) {
      if (this.#seenAt !== undefined) this.#seenAt = deadlines.now();
      return;
    }
    this.#lose();
    this.gone();
  }

  /** Marks the call as lost: its session no longer exists. */
  #lose(): void {
    this.#lost = true;
    this.#isOver();
  }

  /** Frees the id of the request, because the client can no longer cancel this call. */
  #isOver(): void {
    this.#hold?.cancel();
    this.#patience?.cancel();
    if (this.client.calls.get(this.id) === this) this.client.calls.delete(this.id);
  }

  /**
   * Cancels the call. Loads its session first, if necessary. Resolves to true if the cancellation
   * is stored. Undefined if there is nothing to wait for.
   */
  cancel(reason: string): Promise<boolean> | undefined {
    if (this.#continues) return this.#leave();
    const halt = () => {
      this.#session?.halt(reason, "caller");
      return this.#session?.log.whenRecorded();
    };
    return this.revive()?.then(() => halt() ?? true, () => false) ?? halt();
  }

  /** Ends a call of `continue_call` without a response. Its run continues. */
  #leave(): undefined {
    this.#deferral = { text: "", lsn: this.cursor };
    this.#isOver();
    this.#session?.log.stir();
  }

  ended(): void {
    this.#hold?.cancel();
    this.#patience?.cancel();
    if (this.client.calls.get(this.id) === this) this.client.calls.delete(this.id);
    if (this.#session) this.#former?.ended?.(this.#session);
  }

  /** Called when the session has left memory. */
  left(): void {
    if (this.#session) this.#former?.left?.(this.#session);
    this.#sessionId = this.sessionId;
    this.#session = undefined;
    this.#seenAt = this.client.core.deadlines.now();
  }

  /** Sets the stream on which the messages of the call are sent. */
  joinStream(stream: CallStream): void {
    this.#stream = stream;
  }

  /** Called when the call can no longer be resumed. */
  gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#hold?.cancel();
    this.#patience?.cancel();
    const { callsBySession } = this.client;
    if (callsBySession.get(this.sessionId) === this) callsBySession.delete(this.sessionId);
    const stream = this.#stream;
    if (stream?.calls.every((call) => call.isGone)) this.client.streams.delete(stream.number);
  }

  /** Called when the tool asks to close the client's connection. */
  hangUp(): void {
    this.#hungUp = true;
    this.connected();
  }

  /** Ends a new connection of the call's stream, if the tool has asked for that. */
  connected(): void {
    // Before revision 2025-11-25, clients were not required to resume a closed stream.
    if (this.#hungUp && since(this.version, "2025-11-25")) this.#stream?.connection?.end();
  }
}
