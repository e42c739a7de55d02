/**
 * The functions that tests are written with, the same on Deno and on Bun:
 *
 *     describe("openState()", () => {
 *       it("refuses another principal's state", function* () { … });
 *     });
 *
 * Every test gets its own Effection scope, which is destroyed at its end. A test fails
 *  1. with whatever its body or its teardown throws;
 *  2. if it has not ended, including its teardown, within its time limit;
 *  3. if a scope or task that it created elsewhere (`run()`, `createScope()`) is still alive.
 */
import { createContext, createScope, global, type Operation, type Scope, until } from "effection";
import process from "node:process";
import { it as nodeIt } from "node:test";

export { describe } from "node:test";

/** A generator, or an ordinary function, async or not. */
export type TestBody = () => Operation<unknown> | Promise<unknown> | void;

export interface TestOptions {
  /** Milliseconds until a test that hangs fails. A guard, not a wait. Default: 30 s. */
  within?: number;
}

export function it(name: string, body: TestBody, options: TestOptions = {}): void {
  nodeIt(name, () => runTest(body, options));
}

/** Counted and printed as skipped; the name must say why. */
it.skip = (name: string, _body?: TestBody, _options?: TestOptions): void => {
  nodeIt.skip(name, () => {});
};

/**
 * A test for one runtime or system only: skipped, and counted as skipped, unless `condition`
 * holds.
 */
it.when = (condition: boolean): typeof it.skip | typeof it => condition ? it : it.skip;

/**
 * A test that needs a program which this machine may lack: skipped with that reason, or failed if
 * PARLEY_REQUIRE_ALL=1 says that nothing may be missing. See harness/system.ts.
 */
it.unless = (reason: string | undefined): typeof it.skip | typeof it => {
  if (reason === undefined) return it;
  if (process.env["PARLEY_REQUIRE_ALL"] !== "1") {
    return (name: string) => it.skip(`${name} (SKIPPED: ${reason})`);
  }
  return (name: string) =>
    it(name, () => {
      throw new Error(`Cannot be tested: ${reason}`);
    });
};

/** The body of `it`, for the tests of this file. */
export async function runTest(
  body: TestBody,
  { within = 30_000 }: TestOptions = {},
): Promise<void> {
  const before = new Set(liveScopes());
  const [scope, destroy] = createScope();
  const deadline = createDeadline(within);
  const errors = new Set<unknown>();
  const settle = (promise: PromiseLike<unknown>) =>
    Promise.race([promise, deadline.passed]).then(undefined, (error) => errors.add(error));

  await settle(scope.run(() => enter(body)));
  await settle(destroy());
  deadline.clear();
  const left = liveScopes().filter((one) => !before.has(one)).length;
  if (left > 0) errors.add(new Error(`Left ${left} scopes or tasks alive outside of its own`));

  const [first, ...more] = errors;
  if (more.length > 0) throw new AggregateError(errors, [...errors].map(String).join("; "));
  if (errors.size > 0) throw first;
}

function* enter(body: TestBody): Operation<void> {
  const outcome = body();
  if (outcome === undefined) return;
  if (Symbol.iterator in outcome) yield* outcome;
  else yield* until(outcome);
}

function createDeadline(within: number): { passed: Promise<never>; clear(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  // A rejection before anything races against it must not fail the run.
  promise.catch(() => {});
  const timer = setTimeout(
    () => reject(new Error(`Did not end within ${within} ms`)),
    within,
  );
  return { passed: promise, clear: () => clearTimeout(timer) };
}

/**
 * Effection keeps child scopes under this name. The version is pinned, and a test notices a
 * change.
 */
const Children = createContext<Set<Scope>>("@effection/scope.children");

function liveScopes(): Scope[] {
  return [...global.expect(Children)];
}
