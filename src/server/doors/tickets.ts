/**
 * Tickets: the handles by which deferred calls are continued.
 *
 * A ticket is encrypted and authenticated. It is valid for one caller, until it expires. It names
 * a session and an LSN: an answer that comes with a ticket is for a question that was open there.
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
  // Models copy tickets, so they are kept short.
  const plain = [sessionId, lsn.toString(36), Math.ceil(expires / 1_000).toString(36)].join(" ");
  return `${PREFIX}${sealer.seal(plain, contextOf(principal))}`;
}

/** Opens a ticket. Undefined if it was changed, has expired, or belongs to another caller. */
export function openTicket(
  sealer: Sealer,
  ticket: unknown,
  principal: string,
  now: number,
): Ticket | undefined {
  if (typeof ticket !== "string") return undefined;
  // Models may add quotes or spaces.
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
