import assert from "node:assert/strict";
import { createManualClock } from "parley-mcp";
import {
  isExhaustion,
  keepListening,
  type Listener,
  type OpenListener,
} from "../../src/platform/keep-listening.ts";
import type { ListenerNotice, ListenOptions } from "../../src/platform/types.ts";
import { describe, it } from "../suite.ts";
import { idle, until } from "../support/turn.ts";

const NO_DESCRIPTORS = new Error("Too many open files (os error 24)");
const ADDRESS = { port: 0, hostname: "127.0.0.1" };

/** Listeners that fail on request, on a manual clock. */
class Runtime {
  readonly clock = createManualClock();
  readonly notices: ListenerNotice[] = [];
  readonly opened: { options: ListenOptions; fail(error: unknown): void; stopped: boolean }[] = [];
  /** The outcome of the next attempts; the default is a listener. */
  refusal: unknown;
  attempts = 0;
  /** Delays a listener that is being opened. */
  gate: Promise<void> | undefined;

  readonly open: OpenListener = async (options): Promise<Listener> => {
    this.attempts++;
    await this.gate;
    if (this.refusal !== undefined) throw this.refusal;
    const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
    const listener = { options, fail, stopped: false };
    this.opened.push(listener);
    return {
      port: options.port || 4711,
      hostname: options.hostname,
      failed,
      stop: () => {
        listener.stopped = true;
        return Promise.resolve();
      },
    };
  };

  listen() {
    const notice = (notice: ListenerNotice) => void this.notices.push(notice);
    return keepListening(this.open, { ...ADDRESS, notice }, this.clock);
  }

  /** Lets the first attempt after a failure happen. */
  async reopened(count: number): Promise<void> {
    for (let turns = 0; this.opened.length < count; turns++) {
      assert.ok(turns < 100, "it was not opened again");
      await idle();
      this.clock.advance(10);
    }
    await idle();
  }
}

describe("keepListening()", () => {
  it("opens the listener again on the same port, once the failed one is stopped", async () => {
    const runtime = new Runtime();
    const listening = await runtime.listen();
    assert.equal(listening.port, 4711);
    runtime.opened[0]!.fail(NO_DESCRIPTORS);
    await until(() => runtime.notices.length === 1);
    assert.deepEqual(runtime.notices, [{ type: "interrupted", error: NO_DESCRIPTORS }]);
    assert.equal(runtime.opened[0]!.stopped, true);
    await runtime.reopened(2);
    assert.equal(runtime.opened[1]!.options.port, 4711);
    runtime.clock.advance(10_000);
    assert.deepEqual(runtime.notices.at(-1), { type: "restored" });
    await listening.stop();
    assert.equal(runtime.opened[1]!.stopped, true);
    assert.equal(runtime.clock.timers, 0);
  });

  it("rejects if the first attempt fails, and does not retry", async () => {
    const runtime = new Runtime();
    runtime.refusal = new Error("the port is taken");
    await assert.rejects(runtime.listen(), /taken/);
    assert.equal(runtime.clock.timers, 0);
  });

  it("waits longer after each failure, and reports it once", async () => {
    const runtime = new Runtime();
    const listening = await runtime.listen();
    runtime.refusal = NO_DESCRIPTORS;
    runtime.opened[0]!.fail(NO_DESCRIPTORS);
    const attemptsIn = async (ms: number) => {
      const before = runtime.attempts;
      for (let passed = 0; passed < ms; passed += 10) {
        await idle();
        runtime.clock.advance(10);
      }
      return runtime.attempts - before;
    };
    const first = await attemptsIn(1_000);
    const later = await attemptsIn(10_000);
    assert.ok(first >= 5 && first <= 8, `${first} attempts in the first second`);
    assert.ok(later >= 9 && later <= 11, `${later} attempts in the next ten seconds`);
    assert.equal(runtime.notices.length, 1);
    await listening.stop();
    assert.equal(runtime.clock.timers, 0);
  });

  it("retries without end while file descriptors are exhausted", async () => {
    const runtime = new Runtime();
    const listening = await runtime.listen();
    runtime.refusal = NO_DESCRIPTORS;
    runtime.opened[0]!.fail(NO_DESCRIPTORS);
    for (let second = 0; second < 300; second++) {
      await idle();
      runtime.clock.advance(1_000);
    }
    runtime.refusal = undefined;
    await idle();
    runtime.clock.advance(1_000);
    await until(() => runtime.opened.length === 2);
    await listening.stop();
  });

  it("gives up after half a minute of any other failure, with the reason", async () => {
    const runtime = new Runtime();
    const listening = await runtime.listen();
    runtime.refusal = new Error("the address is gone");
    runtime.opened[0]!.fail(new Error("broken"));
    for (let second = 0; second < 32; second++) {
      await idle();
      runtime.clock.advance(1_000);
    }
    assert.match(String(await listening.failed), /the address is gone/);
    assert.equal(runtime.clock.timers, 0);
    await listening.stop();
  });

  it("waits before it reopens a listener that fails as soon as it is open", async () => {
    const runtime = new Runtime();
    const listening = await runtime.listen();
    for (let step = 0; step < 500; step++) {
      runtime.opened.at(-1)!.fail(NO_DESCRIPTORS);
      await idle();
      runtime.clock.advance(10);
    }
    assert.ok(runtime.opened.length < 15, `it was opened ${runtime.opened.length} times`);
    assert.equal(runtime.notices.length, 1);
    await listening.stop();
    assert.ok(runtime.opened.every(({ stopped }) => stopped));
  });

  it("opens nothing after stop(), neither between attempts nor during one", async () => {
    const between = new Runtime();
    const first = await between.listen();
    between.opened[0]!.fail(NO_DESCRIPTORS);
    await until(() => between.clock.timers === 1);
    await first.stop();
    assert.equal(between.clock.timers, 0);

    const during = new Runtime();
    const second = await during.listen();
    const { promise, resolve } = Promise.withResolvers<void>();
    during.gate = promise;
    during.opened[0]!.fail(NO_DESCRIPTORS);
    await until(() => during.clock.timers === 1);
    during.clock.advance(10);
    await until(() => during.attempts === 2);
    const stopped = second.stop();
    resolve();
    await stopped;
    assert.equal(during.clock.timers, 0);
    assert.ok(during.opened.every(({ stopped }) => stopped));
  });
});

describe("isExhaustion()", () => {
  it("recognises the messages of each runtime", () => {
    assert.equal(isExhaustion(NO_DESCRIPTORS), true);
    assert.equal(isExhaustion(Object.assign(new Error("accept EMFILE"), { code: "EMFILE" })), true);
    for (const error of [new Error("Address already in use (os error 98)"), undefined, "x", null]) {
      assert.equal(isExhaustion(error), false);
    }
  });
});
