/**
 * Limits the tokens that a branch may spend on answers.
 *
 * The tokens of a branch also count for all its parents, so the tightest limit applies. The tokens
 * of a pending answer are reserved, so that concurrent sampling requests cannot spend the same
 * tokens. If the model reports no token count, four characters count as one token.
 */
import { McpToolTokenError } from "../model/errors.ts";

export class TokenBudget {
  #used = 0;
  #setAside = 0;
  constructor(
    readonly limit: number = Infinity,
    readonly parent?: TokenBudget,
  ) {}

  get used(): number {
    return this.#used;
  }

  /**
   * The number of tokens that this branch may still spend, given its limit and those of its
   * parents.
   */
  get left(): number {
    return Math.min(this.limit - this.#used - this.#setAside, this.parent?.left ?? Infinity);
  }

  /** Reserves up to `wanted` tokens. Throws if none are left. */
  grant(wanted: number): number {
    for (let budget: TokenBudget | undefined = this; budget; budget = budget.parent) {
      const gone = budget.#used + budget.#setAside;
      if (gone >= budget.limit) throw new McpToolTokenError(gone, budget.limit);
    }
    // Cap the reservation, because Infinity could not be subtracted again.
    const granted = Math.min(wanted, this.left, Number.MAX_SAFE_INTEGER);
    this.#add(granted, 0);
    return granted;
  }

  /** Releases a reservation, and counts the tokens that the answer cost. */
  settle(granted: number, spent: number): void {
    this.#add(-granted, spent);
  }

  #add(setAside: number, used: number): void {
    this.#setAside += setAside;
    this.#used += used;
    if (this.parent) this.parent.#add(setAside, used);
  }
}

export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}
