/**
 * The points at which a server may die. Each has a name that is unique within one flow, so that it
 * is the same point in every run, however commits are grouped.
 */
import { appendFileSync } from "node:fs";
import process from "node:process";
import { setImmediate } from "node:timers";
import { type Operation, until } from "effection";
import type { ToolSessionEvent } from "../../src/model/events.ts";
import type {
  ClientSessionStore,
  ToolSessionEntry,
  ToolSessionStore,
} from "../../src/store/types.ts";

/** Where a server dies. */
export interface Kill {
  readonly flow: string;
  readonly point: string;
}

export interface KillPlan {
  readonly kill?: Kill | undefined;
  /** Alternatively: after this many commits of any kind. */
  readonly commits?: number | undefined;
  /** The file that every point is written to, if they are to be counted. */
  readonly record?: string | undefined;
}

/** A point that a server has passed, if that is recorded. */
export interface PassedPoint {
  readonly flow: string;
  readonly name: string;
  readonly instant: number;
}

export class KillPoints {
  readonly #plan: KillPlan;
  #commits = 0;
  /** Incremented every turn: two points with the same number have nothing between them. */
  #instant = 0;

  constructor(plan: KillPlan) {
    this.#plan = plan;
  }

  /** The server is at a point. `names` are its names; the first is the one to be counted. */
  pass(flow: string, ...names: readonly string[]): void {
    const { record } = this.#plan;
    if (record !== undefined) {
      const point: PassedPoint = { flow, name: names[0]!, instant: this.#instant };
      appendFileSync(record, `${JSON.stringify(point)}\n`);
      queueMicrotask(() => this.#instant++);
    }
    if (this.#isLast(flow, names)) die();
  }

  #isLast(flow: string, names: readonly string[]): boolean {
    const { kill } = this.#plan;
    return kill?.flow === flow && names.includes(kill.point);
  }

  /** Something was committed. */
  committed(): void {
    if (++this.#commits === this.#plan.commits) die();
  }

  /** `yield* at("pay", …)`: a point right before it, and one right after, whatever its outcome. */
  around(flow: string): <T>(name: string, operation: Operation<T>) => Operation<T> {
    const pass = (name: string) => this.pass(flow, name);
    return function* (name, operation) {
      pass(`before ${name}`);
      try {
        return yield* operation;
      } finally {
        pass(`after ${name}`);
      }
    };
  }

  /** The same store, with a point before and after each commit. */
  overSessions(store: ToolSessionStore): ToolSessionStore {
    const flows = new Map<string, string>();
    const counts = new Map<string, number>();
    const learn = (id: string, entry: ToolSessionEntry | null | undefined) => {
      if (entry) flows.set(id, (entry.params as { flow: string }).flow);
    };
    const counted = (id: string, what: string) => {
      const count = (counts.get(`${what} ${id}`) ?? 0) + 1;
      counts.set(`${what} ${id}`, count);
      return `${what} ${count}`;
    };
    const commit = <T>(id: string, before: string[], after: string[], operation: Operation<T>) =>
      this.#commit(() => flows.get(id) ?? "", before, after, operation);
    return new Proxy(store, {
      get(target, name: keyof ToolSessionStore) {
        switch (name) {
          case "append":
            return (...[id, events, condition]: Parameters<ToolSessionStore["append"]>) => {
              learn(id, condition.entry);
              const names = events.map(({ lsn }: ToolSessionEvent) => `event ${lsn}`);
              if (names.length === 0) names.push(counted(id, "change"));
              return commit(id, names, names.toReversed(), target.append(id, events, condition));
            };
          case "set":
            return (id: string, entry: ToolSessionEntry) => {
              learn(id, entry);
              const names = [counted(id, "entry")];
              return commit(id, names, names, target.set(id, entry));
            };
          case "take":
            return function* (id: string) {
              learn(id, yield* target.get(id));
              return yield* commit(id, ["taking over"], ["taking over"], target.take(id));
            };
          default:
            return bound(target, name);
        }
      },
    });
  }

  /** The same store; a client is named after its flow. */
  overClients(store: ClientSessionStore): ClientSessionStore {
    const counts = new Map<string, number>();
    // deno-lint-ignore no-this-alias
    const points = this;
    return new Proxy(store, {
      get(target, name: keyof ClientSessionStore) {
        if (name !== "set") return bound(target, name);
        return (...[id, record]: Parameters<ClientSessionStore["set"]>) => {
          const flow = /"flow ([^"]+)"/.exec(JSON.stringify(record))?.[1] ?? "";
          const count = (counts.get(id) ?? 0) + 1;
          counts.set(id, count);
          const names = [`client ${count}`];
          return points.#commit(() => flow, names, names, target.set(id, record));
        };
      },
    });
  }

  *#commit<T>(
    flow: () => string,
    before: readonly string[],
    after: readonly string[],
    operation: Operation<T>,
  ): Operation<T> {
    const names = before.map((name) => `before commit of ${name}`);
    // Anything promised too early is sent before the server dies, and is then found missing.
    if (this.#isLast(flow(), names)) yield* until(turns(50));
    this.pass(flow(), ...names);
    const value = yield* operation;
    this.pass(flow(), ...after.map((name) => `after commit of ${name}`));
    this.committed();
    return value;
  }
}

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Nothing is flushed, closed or printed. */
function die(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("It has outlived its own death");
}

/** Binds a method to its object, which private fields require. */
function bound<T extends object>(target: T, name: keyof T): unknown {
  const member: unknown = target[name];
  return typeof member === "function" ? member.bind(target) : member;
}
