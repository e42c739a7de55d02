/** A branch of a run: its path, its conversation and its limits. */
import { TokenBudget } from "../ask/budget.ts";
import { checkLimit } from "../ask/ask.ts";
import type { Conversation } from "../ask/sample.ts";
import { type McpMessage, normalizeMessage } from "../model/content.ts";
import { McpToolDepthError } from "../model/errors.ts";
import type { Place } from "../model/events.ts";
import type { Definition } from "../tool/types.ts";
import type { McpToolBranchOptions } from "../tool/settings.ts";

const DEFAULT_MAX_DEPTH = 10;

export class Branch implements Conversation {
  #counts: Map<string, number> | undefined;
  #first: string | undefined;
  #budget: TokenBudget | undefined;

  constructor(
    readonly path: string,
    readonly depth: number,
    readonly maxDepth: number,
    readonly messages: McpMessage[],
    readonly parentMessages: readonly McpMessage[],
    readonly maxTokens: number | undefined,
    readonly parent?: Branch,
  ) {}

  /** The token budget. It is created on first access, because most branches never ask a model. */
  get budget(): TokenBudget {
    return this.#budget ??= new TokenBudget(this.maxTokens, this.parent?.budget);
  }

  /**
   * Returns how many operations with this kind and key the branch has already started, and counts
   * one more.
   */
  count(kind: string, key: string): number {
    const name = `${kind}:${key}`;
    // Most branches start one operation only, and need no map.
    if (this.#first === undefined) {
      this.#first = name;
      return 0;
    }
    this.#counts ??= new Map([[this.#first, 1]]);
    const count = this.#counts.get(name) ?? 0;
    this.#counts.set(name, count + 1);
    return count;
  }

  place(kind: Place["kind"], key: string): Place {
    return { branch: this.path, kind, key, count: this.count(kind, key) };
  }

  open(options: McpToolBranchOptions): Branch {
    const depth = this.depth + 1;
    checkLimit("a branch's maxDepth", options.maxDepth);
    checkLimit("a branch's maxTokens", options.maxTokens);
    checkLimit("a branch's timeout", options.timeout);
    if (depth > this.maxDepth) throw new McpToolDepthError(depth, this.maxDepth);
    return new Branch(
      `${this.path}/${this.count("branch", "")}`,
      depth,
      Math.min(this.maxDepth, depth + (options.maxDepth ?? Infinity)),
      [
        ...(options.inheritMessages === false ? [] : this.messages),
        ...(options.messages ?? []).map(normalizeMessage),
      ],
      this.messages.slice(),
      options.maxTokens,
      this,
    );
  }
}

/** Returns the branch of the tool itself. */
export function rootBranch({ limits }: Definition): Branch {
  return new Branch("", 0, limits.maxDepth ?? DEFAULT_MAX_DEPTH, [], [], limits.maxTokens);
}

/**
 * Returns the branch of a `before` or `after` phase, which has no conversation and no child
 * branches.
 */
export function phaseBranch(phase: "before" | "after"): Branch {
  return new Branch(phasePath(phase), 0, 0, [], [], 0);
}

/** Returns the branch path of a phase in recorded events. */
export function phasePath(phase: string): string {
  return `#${phase}`;
}
