/** Compares clocks by the `Date` headers of responses. */
import { CLOCK_SKEW } from "../../auth/tokens.ts";
import type { Finding } from "./probe.ts";

/** A clock, and the milliseconds by which it is ahead of the clock of this machine. */
export interface ClockSeen {
  /** The owner of the clock, such as `the server`. */
  readonly who: string;
  readonly ahead: number | undefined;
}

/** The allowed difference in milliseconds. It is the same as for the times in tokens. */
const TOLERANCE = CLOCK_SKEW * 1_000;

const SET = "synchronise the clocks with NTP";

/**
 * Compares clocks. The first is the clock of the server, the others those of its authorization
 * servers.
 */
export function clockFindings(
  [server, ...issuers]: readonly [ClockSeen, ...ClockSeen[]],
): Finding[] {
  const { ahead } = server;
  if (ahead === undefined) {
    return [{ check: "clock", status: "skipped", message: "The server sends no Date header" }];
  }
  const apart = issuers.flatMap((issuer) => {
    const difference = issuer.ahead === undefined ? 0 : ahead - issuer.ahead;
    if (Math.abs(difference) <= TOLERANCE) return [];
    const message = `The server's clock is ${
      distance(difference)
    } the clock of ${issuer.who}, so the server refuses valid tokens or accepts expired ones`;
    return [{ check: "clock", status: "problem", message, remedy: SET } as const];
  });
  if (Math.abs(ahead) <= TOLERANCE) {
    return apart.length > 0
      ? apart
      : [{ check: "clock", status: "ok", message: "The clocks agree" }];
  }
  const message = `The server's clock is ${distance(ahead)} the clock of this machine`;
  // If the issuers agree with the server, the clock of this machine is wrong.
  const agreed = issuers.length > 0 && apart.length === 0;
  return [
    ...apart,
    agreed
      ? { check: "clock", status: "warning", message, remedy: "check the clock of this machine" }
      : { check: "clock", status: "problem", message, remedy: SET },
  ];
}

function distance(ms: number): string {
  return `${Math.round(Math.abs(ms) / 1_000)} seconds ${ms > 0 ? "ahead of" : "behind"}`;
}
