/**
 * Tickets. A ticket is a token with which a model continues a deferred call.
 *
 * A ticket is encrypted and authenticated. It is valid for one caller, until it expires. It contains
 * a session id and an LSN. An answer with a ticket is for a question that was open at that LSN.
 */
import type { Sealer } from "../../lib/sealer.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";

export interface Ticket {
  readonly sessionId: string;
  /** The last LSN of the session's log when the ticket was issued. */
  readonly lsn: number;
  /** Expiry time, in milliseconds since the epoch. */
  readonly expires: number;
  /** The number of the newest question that was open when the ticket was issued. */
  readonly newest?: number | undefined;
}

/** A ticket for the current state of a session. */
export function ticketFor(session: LiveToolSession, expires: number): Ticket {
  const { id: sessionId, log } = session;
  const newest = Math.max(0, ...session.openRequests().map(questionNumber));
  return { sessionId, lsn: log.lastLSN, expires, newest };
}

/** The number of a question, counted from the first question of its session. */
export function questionNumber({ id }: { readonly id: string }): number {
  return Number(id.slice(id.lastIndexOf("_") + 1));
}

const PREFIX = "t_";

export function sealTicket(
  sealer: Sealer,
  { sessionId, lsn, expires, newest }: Ticket,
  principal: string,
): string {
  // Keep tickets short, because models have to copy them.
  const numbers = [lsn, Math.ceil(expires / 1_000), ...newest === undefined ? [] : [newest]];
  const plain = [sessionId, ...numbers.map((one) => one.toString(36))].join(" ");
  return `${PREFIX}${sealer.seal(plain, contextOf(principal))}`;
}

/** Opens a ticket. Undefined if it was modified, has expired, or is for another caller. */
export function openTicket(
  sealer: Sealer,
  ticket: unknown,
  principal: string,
  now: number,
): Ticket | undefined {
  if (typeof ticket !== "string") return undefined;
  // Remove quotes and spaces that models may add.
  const text = ticket.trim().replace(/^["'`]+|["'`]+$/g, "");
  if (!text.startsWith(PREFIX)) return undefined;
  const plain = sealer.open(text.slice(PREFIX.length), contextOf(principal));
  if (plain === undefined) return undefined;
  const [sessionId, ...numbers] = plain.split(" ") as [string, ...string[]];
  const [lsn, expires, newest] = numbers.map((one) => parseInt(one, 36)) as [
    number,
    number,
    number?,
  ];
  const opened = { sessionId, lsn, expires: expires * 1_000, newest };
  return now < opened.expires ? opened : undefined;
}

function contextOf(principal: string): string {
  return `ticket\0${principal}`;
}

const SECRET = "s_";

/**
 * Seals the secret that a view of an MCP App sends with its answers. The model never sees this
 * secret.
 */
export function sealSecret(sealer: Sealer, sessionId: string, principal: string): string {
  return `${SECRET}${sealer.seal(sessionId, secretContext(principal))}`;
}

export function openSecret(
  sealer: Sealer,
  secret: unknown,
  principal: string,
): Ticket | undefined {
  if (typeof secret !== "string" || !secret.startsWith(SECRET)) return undefined;
  const sessionId = sealer.open(secret.slice(SECRET.length), secretContext(principal));
  return sessionId === undefined ? undefined : { sessionId, lsn: 0, expires: Infinity };
}

function secretContext(principal: string): string {
  return `secret of a view\0${principal}`;
}
