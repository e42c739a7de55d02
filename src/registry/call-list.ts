/**
 * One page of a list of calls: takes all calls one after the other, and keeps those that belong on
 * the page. So the memory that a page needs does not depend on the number of calls.
 */
import { Buffer } from "node:buffer";
import type { CallFilter } from "../model/calls.ts";
import { CallActionError } from "../model/errors.ts";
import type { CallKey } from "./call-view.ts";

/** The place of a call in the order of a list: group, time, id. */
type Rank = readonly [group: number, time: number, id: string];

interface Ranked {
  readonly key: CallKey;
  readonly rank: Rank;
}

/** The maximum number of calls on a page. */
const MAX_CALLS = 500;

export class CallList {
  readonly #filter: CallFilter;
  readonly #limit: number;
  readonly #states: ReadonlySet<string> | undefined;
  readonly #bornBefore: number;
  readonly #after: Rank | undefined;
  /** The calls of the page in order, and the first call of the next page, if there is one. */
  readonly #ranked: Ranked[] = [];
  /** The number of calls that match the filter. */
  readonly total: number = 0;

  constructor(filter: CallFilter, now: number) {
    this.#filter = filter;
    const { state, olderThan, after, limit = 100 } = filter;
    this.#limit = Math.min(MAX_CALLS, Math.max(1, Math.floor(limit)));
    this.#states = state === undefined ? undefined : new Set([state].flat());
    this.#bornBefore = olderThan === undefined ? Infinity : now - olderThan;
    this.#after = after === undefined ? undefined : readCursor(after);
  }

  consider(key: CallKey): void {
    if (!this.#matches(key)) return;
    (this as { total: number }).total++;
    const rank = this.#rank(key);
    if (this.#after && compare(rank, this.#after) <= 0) return;
    const ranked = this.#ranked;
    const limit = this.#limit;
    const last = ranked.at(-1);
    if (ranked.length > limit && last && compare(rank, last.rank) >= 0) return;
    let low = 0;
    let high = ranked.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(ranked[middle]!.rank, rank) < 0) low = middle + 1;
      else high = middle;
    }
    ranked.splice(low, 0, { key, rank });
    if (ranked.length > limit + 1) ranked.pop();
  }

  get page(): CallKey[] {
    return this.#ranked.slice(0, this.#limit).map(({ key }) => key);
  }

  /** Where the next page starts. Undefined if this is the last page. */
  get next(): string | undefined {
    const limit = this.#limit;
    if (this.#ranked.length <= limit) return undefined;
    return Buffer.from(JSON.stringify(this.#ranked[limit - 1]!.rank)).toString("base64url");
  }

  #matches(key: CallKey): boolean {
    const { tool, principal, client, door } = this.#filter;
    return (tool === undefined || key.tool === tool) &&
      (principal === undefined || key.principal === principal) &&
      (client === undefined || key.client === client) &&
      (this.#states === undefined || this.#states.has(key.state)) &&
      (door === undefined || key.doors.includes(door)) &&
      key.createdAt <= this.#bornBefore;
  }

  #rank({ id, state, createdAt, since }: CallKey): Rank {
    switch (this.#filter.order ?? "waiting") {
      case "oldest":
        return [0, createdAt, id];
      case "newest":
        return [0, -createdAt, id];
      case "waiting":
        if (state === "waiting") return [0, since ?? createdAt, id];
        return state === "running" || state === "set-aside" ? [1, createdAt, id] : [
          2,
          -createdAt,
          id,
        ];
    }
  }
}

function compare(one: Rank, other: Rank): number {
  if (one[0] !== other[0]) return one[0] - other[0];
  if (one[1] !== other[1]) return one[1] - other[1];
  return one[2] < other[2] ? -1 : one[2] > other[2] ? 1 : 0;
}

function readCursor(text: string): Rank {
  try {
    const [group, time, id] = JSON.parse(Buffer.from(text, "base64url").toString());
    if (typeof group === "number" && typeof time === "number" && typeof id === "string") {
      return [group, time, id];
    }
  } catch {
    // Not a cursor.
  }
  throw new CallActionError(
    text.slice(0, 20),
    "list calls after",
    "invalid",
    "it is not the end of a page",
    "start with the first page",
  );
}
