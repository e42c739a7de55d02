/**
 * Tickets. A ticket is a token with which a model continues a deferred call.
 *
 * A ticket is encrypted and authenticated. It is valid for one caller, until it expires. It contains
 * a session id and an LSN. An answer with a ticket is for a question that was open at that LSN.
 */
import type { Sealer } from "../../lib/sealer.ts";

export interface Ticket {
  readonly sessionId: string;
  /** The last LSN of the session's log when the ticket was issued. */
  readonly lsn: number;
  /** Expiry time, in milliseconds since the epoch. */
  readonly expires: number;
}

const PREFIX = "t_";

export function sealTicket(
  sealer: Sealer,
  { sessionId, lsn, expires }: Ticket,
  principal: string,
): string {
  // Keep tickets short, because models have to copy them.
  const plain = [sessionId, lsn.toString(36), Math.ceil(expires / 1_000).toString(36)].join(" ");
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
  const [sessionId, lsn, expires] = plain.split(" ") as [string, string, string];
  const opened = { sessionId, lsn: parseInt(lsn, 36), expires: parseInt(expires, 36) * 1_000 };
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
