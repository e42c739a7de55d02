/**
 * How many tokens a branch may still spend on answers.
 *
 * What a child spends its parents spend too, so the tightest limit on the way
 * up decides. Where nobody counts tokens for us, four characters make one.
 */
import { McpToolTokenError } from "../errors.ts";

export class TokenBudget {
  #used = 0;
  constructor(
    readonly limit: number = Infinity,
    readonly parent?: TokenBudget,
  ) {}

  get used(): number {
    return this.#used;
  }

  /** Tokens left, here and on the way up. */
  get left(): number {
    return Math.min(this.limit - this.#used, this.parent?.left ?? Infinity);
  }

  /** How many of `wanted` tokens an answer may take; throws when none are left. */
  grant(wanted: number): number {
    for (let budget: TokenBudget | undefined = this; budget; budget = budget.parent) {
      if (budget.#used >= budget.limit) throw new McpToolTokenError(budget.#used, budget.limit);
    }
    return Math.min(wanted, this.left);
  }

  charge(tokens: number): void {
    this.#used += tokens;
    this.parent?.charge(tokens);
  }
}

export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}
