/**
 * Remembers reads of resources that ask a question. If the client cannot show the question, the
 * read ends with an error that names the page. The run stays, and the next read of the same URI
 * continues it.
 *
 * READING-1  Only the same caller finds a run: the same client session, channel or named caller.
 *            Other callers could be anybody, so they get a URI with a ticket.
 * READING-2  The text of a run is returned once. The next read starts a new run.
 */
import type { Deadline } from "../../lib/deadlines.ts";
import { SharedMap } from "../../lib/shares.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { ServerCore } from "../core.ts";
import type { ViewScope } from "./answer-call.ts";
import { openTicket, sealTicket } from "./tickets.ts";

interface Reading {
  readonly sessionId: string;
  readonly scope: ViewScope;
  readonly uri: string;
  /** True if the read has ended with an error, and its run still exists. */
  isDeferred: boolean;
  expiry?: Deadline;
}

/** Maximum number of runs. Beyond it, the caller with the most runs loses its oldest one. */
const MAX_READINGS = 1_000;
const TICKET = /#(t_[\w-]+)$/;

/** Removes the ticket that an error message may have added to a URI. */
export function withoutTicket<T>(uri: T): T | string {
  return typeof uri === "string" ? uri.replace(TICKET, "") : uri;
}

/**
 * True if a run is a read of this resource, for this caller. Check this, because a ticket may
 * belong to another call.
 */
export function isReadOf(session: LiveToolSession, name: string, principal: string): boolean {
  const { tool, toolName } = session;
  return tool.kind === "resource" && toolName === name && session.principal === principal;
}

export class Readings {
  readonly #core: ServerCore;
  /** The runs, by the ids of their sessions. */
  readonly #readings = new SharedMap<Reading>(MAX_READINGS);
  readonly open: { readonly size: number } = this.#readings;

  constructor(core: ServerCore) {
    this.#core = core;
  }

  /**
   * Remembers a new run. Without a scope, its caller cannot be distinguished from others
   * (READING-1).
   */
  expect(
    { id: sessionId, tool }: LiveToolSession,
    uri: unknown,
    scope: ViewScope | undefined,
  ): void {
    if (tool.elicits.size === 0 || scope === undefined || typeof uri !== "string") return;
    const holder = typeof scope === "string" ? scope : "";
    this.#readings.set(holder, sessionId, { sessionId, scope, uri, isDeferred: false });
  }

  /**
   * Keeps a run whose read ends with an error. Returns the URI with which the client must read it
   * again, if that URI differs (READING-1).
   */
  defer(session: LiveToolSession, uri: unknown): string | undefined {
    const { registry, deadlines } = this.#core;
    const { id: sessionId, log, principal } = session;
    const lifetime = registry.timeToLiveOf(session);
    const expires = deadlines.now() + lifetime;
    session.defer();
    registry.promise(session, expires);
    registry.noteChange(session);
    const reading = this.#readings.get(sessionId);
    if (!reading) {
      const ticket = { sessionId, lsn: log.lastLSN, expires };
      return typeof uri !== "string"
        ? undefined
        : `${uri}#${sealTicket(registry.sealer, ticket, principal)}`;
    }
    reading.isDeferred = true;
    reading.expiry?.cancel();
    reading.expiry = deadlines.add(lifetime, () => this.taken(session));
    return undefined;
  }

  /** The id of the run that a read continues. */
  find(uri: unknown, scope: ViewScope | undefined, principal: string): string | undefined {
    if (typeof uri !== "string") return undefined;
    const { registry, deadlines } = this.#core;
    const [, ticket] = TICKET.exec(uri) ?? [];
    if (ticket !== undefined) {
      return openTicket(registry.sealer, ticket, principal, deadlines.now())?.sessionId;
    }
    if (scope === undefined || this.#readings.size === 0) return undefined;
    for (const one of this.#readings.of(typeof scope === "string" ? scope : "")) {
      if (one.isDeferred && one.scope === scope && one.uri === uri) return one.sessionId;
    }
    return undefined;
  }

  /** Called when the text of a run was read (READING-2), or the run is no longer kept. */
  taken({ id }: { readonly id: string }): void {
    this.#readings.get(id)?.expiry?.cancel();
    this.#readings.delete(id);
  }

  /** Called with each session that has ended. */
  ended(session: LiveToolSession): void {
    if (this.#readings.get(session.id)?.isDeferred === false) this.taken(session);
  }
}
