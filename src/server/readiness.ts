/**
 * Whether the server can take calls now, for whoever spreads them over servers.
 *
 * Being alive is another question: a server whose disk is full answers `/healthz`, because
 * starting it again would not help, and fails `/readyz`.
 */
import type { Operation, Scope } from "effection";
import { randomUUID } from "node:crypto";
import type { Deadlines } from "../lib/deadlines.ts";
import { startOperation } from "../lib/start-operation.ts";
import type { Fault } from "../run/run-port.ts";
import type { ToolSessionStore } from "../store/types.ts";

/** Something that must be in order before the server takes calls. */
export interface ReadinessCheck {
  /** What is shown to whoever asks. */
  readonly name: string;
  /** Throws if it is not in order. The operator is told why, whoever asks is not. */
  check(): Operation<void>;
}

/** What each check found, by its name. */
export type Findings = { readonly [name: string]: "ok" | "failed" };

/** Milliseconds that a check may take. */
const CHECK_TIMEOUT = 2_000;
/** Milliseconds for which an answer is given again: anybody may ask, as often as they like. */
const FRESH = 1_000;

export class Readiness {
  readonly #scope: Scope;
  readonly #deadlines: Deadlines;
  readonly #report: (fault: Fault) => void;
  readonly #checks: ReadinessCheck[] = [];
  /** Those that failed when they were last made, and of which the operator was told. */
  readonly #failing = new Set<string>();
  #last: { readonly at: number; readonly findings: Promise<Findings> } | undefined;

  constructor(scope: Scope, deadlines: Deadlines, report: (fault: Fault) => void) {
    this.#scope = scope;
    this.#deadlines = deadlines;
    this.#report = report;
  }

  add(check: ReadinessCheck): void {
    this.#checks.push(check);
    this.#last = undefined;
  }

  /** Makes every check, unless that was done a moment ago. */
  findings(): Promise<Findings> {
    const now = this.#deadlines.now();
    if (!this.#last || now - this.#last.at >= FRESH) {
      const made = this.#checks.map((check) => this.#make(check));
      this.#last = { at: now, findings: Promise.all(made).then(Object.fromEntries) };
    }
    return this.#last.findings;
  }

  async #make(check: ReadinessCheck): Promise<[string, "ok" | "failed"]> {
    const { name } = check;
    const made = startOperation(this.#scope, () => check.check());
    const deadline = this.#deadlines.add(CHECK_TIMEOUT, () => made.halt());
    const outcome = await made.ended();
    deadline.cancel();
    if (outcome.type === "returned") {
      this.#failing.delete(name);
      return [name, "ok"];
    }
    if (!this.#failing.has(name)) {
      this.#failing.add(name);
      const late = new Error(
        `Cannot check "${name}": it took more than ${CHECK_TIMEOUT} ms; see whether it can be reached`,
      );
      this.#report({
        what: `not ready: the check "${name}" fails`,
        toolName: "-",
        sessionId: "-",
        error: outcome.type === "threw" ? outcome.error : late,
      });
    }
    return [name, "failed"];
  }
}

/** Writes an entry to a store, and removes it. */
export function writable(store: ToolSessionStore, now: () => number): ReadinessCheck {
  // Its own, because other servers may share the store.
  const id = `readiness_${randomUUID()}`;
  return {
    name: "store",
    *check() {
      const createdAt = now();
      yield* store.set(id, {
        id,
        toolName: "-",
        params: null,
        createdAt,
        epoch: 1,
        // The store forgets it if this process ends before it is removed.
        expiresAt: createdAt + 60_000,
      });
      yield* store.delete(id);
    },
  };
}
