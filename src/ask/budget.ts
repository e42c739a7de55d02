/**
 * How many tokens a branch may still spend on answers.
 *
 * What a child spends its parents spend too, so the tightest limit on the way
 * up decides. What an answer may take is set aside until it is there, so that
 * questions that are put at the same time cannot spend the same tokens. Where
 * nobody counts tokens for us, four characters make one.
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

  /** Tokens left, here and on the way up. */
  get left(): number {
    return Math.min(this.limit - this.#used - this.#setAside, this.parent?.left ?? Infinity);
  }

  /** Sets aside as many of `wanted` tokens as there are; throws when none are left. */
  grant(wanted: number): number {
    for (let budget: TokenBudget | undefined = this; budget; budget = budget.parent) {
      const gone = budget.#used + budget.#setAside;
      if (gone >= budget.limit) throw new McpToolTokenError(gone, budget.limit);
    }
    // Without an end there would be no taking it back.
    const granted = Math.min(wanted, this.left, Number.MAX_SAFE_INTEGER);
    this.#add(granted, 0);
    return granted;
  }

  /** An answer is there, or will not come: what was granted for it is free, what it took is spent. */
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
