/**
 * Readiness (`/readyz`): tells a load balancer whether the server can serve calls now.
 *
 * Liveness (`/healthz`) is separate. A server with a full disk is alive but not ready: a restart
 * would not help, so `/healthz` succeeds and `/readyz` fails.
 */
import type { Operation, Scope } from "effection";
import type { Deadlines } from "../lib/deadlines.ts";
import { startOperation } from "../lib/start-operation.ts";
import type { Fault } from "../run/run-port.ts";
import type { ToolSessionStore } from "../store/types.ts";

/** A condition for readiness. */
export interface ReadinessCheck {
  /** The name of the check, as the response of `/readyz` shows it. */
  readonly name: string;
  /** Runs the check. Throws if it fails; the error is reported, and is not part of the response. */
  check(): Operation<void>;
}

/** The result of each check, by name. */
export type Findings = { readonly [name: string]: "ok" | "failed" };

/** Timeout of a check, in milliseconds. */
const CHECK_TIMEOUT = 2_000;
/** Milliseconds for which results are cached, so that many requests do not cause many checks. */
const FRESH = 1_000;

export class Readiness {
  readonly #scope: Scope;
  readonly #deadlines: Deadlines;
  readonly #report: (fault: Fault) => void;
  readonly #checks: ReadinessCheck[] = [];
  /** Checks that failed in their last run. Only the first failure in a row is reported. */
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

  /** Runs all checks, or returns the cached results. */
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
        `Cannot check "${name}": it took more than ${CHECK_TIMEOUT} ms; make sure that it can be reached`,
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

/** A check that writes an entry to the store and deletes it. */
export function writable(store: ToolSessionStore, now: () => number): ReadinessCheck {
  // The id is unique, because other servers may share the store.
  const id = `readiness_${crypto.randomUUID()}`;
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
        // If this process ends before the deletion, the entry expires.
        expiresAt: createdAt + 60_000,
      });
      yield* store.delete(id);
    },
  };
}
