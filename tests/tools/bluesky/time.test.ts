/** What happens to a sign-in that nobody finishes; the test drives the clock. */
import assert from "node:assert/strict";
import { type Operation, resource, until } from "effection";
import { createManualClock, type ManualClock } from "parley-mcp";
import { LiveToolSessionRegistry } from "../../../src/registry/registry.ts";
import { Pages } from "../../../src/server/pages.ts";
import type { LiveToolSession } from "../../../src/session/tool-session.ts";
import { createBlueskyTools } from "../../../tools/bluesky.ts";
import { defaultSetup } from "../../../tools/bluesky/setup.ts";
import { describe, it } from "../../suite.ts";
import { event } from "./events.ts";
import { FakeService } from "./fake-service.ts";
import { MemoryVault } from "../../support/memory-vault.ts";

const MINUTE = 60_000;
const capabilities = { url: { elicitation: { url: {} } }, nothing: {} };

interface Started {
  readonly session: LiveToolSession;
  readonly clock: ManualClock;
  readonly pages: Pages;
  readonly vault: MemoryVault;
}

function useLogin(can: keyof typeof capabilities): Operation<Started> {
  return resource(function* (provide) {
    const clock = createManualClock();
    const pages = new Pages({ publicUrl: "http://127.0.0.1:7411" });
    const registry = new LiveToolSessionRegistry({ clock, site: pages });
    pages.settle(registry);
    const vault = new MemoryVault();
    const service = new FakeService();
    const { login } = createBlueskyTools({
      ...defaultSetup({}),
      vault: () => Promise.resolve(vault),
      service: service.url,
      network: service.network,
    });
    const session = registry.open(login, {}, { client: { capabilities: capabilities[can] } });
    try {
      yield* provide({ session, clock, pages, vault });
    } finally {
      yield* until(pages.close());
      yield* until(registry.close());
      assert.equal(clock.timers, 0, "a timer is still set");
    }
  });
}

function* outcomeOf(session: LiveToolSession): Operation<string> {
  yield* until(event(session, "result"));
  const { outcome } = session;
  assert.equal(outcome?.status, "completed");
  return JSON.stringify(outcome);
}

describe("a sign-in that nobody finishes", () => {
  it("ends after ten minutes, if the page was opened", function* () {
    const { session, clock, pages, vault } = yield* useLogin("url");
    const request = yield* until(event(session, "elicit_request"));
    session.respond((request as { id: string }).id, { action: "accept" });
    yield* until(event(session, "progress"));
    clock.advance(9 * MINUTE);
    assert.equal(session.outcome, undefined);
    clock.advance(MINUTE);
    assert.match(
      yield* outcomeOf(session),
      /the sign-in was not finished in the browser within 10 minutes, and nothing was stored/,
    );
    assert.deepEqual(pages.at("/bluesky/callback"), []);
    assert.equal(vault.documents.size, 0);
  });

  it("ends after ten minutes, if nobody even answered", function* () {
    const { session, clock } = yield* useLogin("url");
    yield* until(event(session, "elicit_request"));
    clock.advance(10 * MINUTE);
    assert.match(
      yield* outcomeOf(session),
      /the sign-in was not finished in the browser within 10 minutes/,
    );
  });

  it("leaves a link that is valid for ten minutes to a client that cannot ask", function* () {
    const { session, clock, pages } = yield* useLogin("nothing");
    const told = yield* outcomeOf(session);
    const [, path] = /127\.0\.0\.1:7411(\/pages\/[^/\s\\]+)/.exec(told)!;
    clock.advance(10 * MINUTE - 1);
    assert.equal(pages.at(path!).length, 1);
    assert.equal(pages.at("/bluesky/callback").length, 1);
    clock.advance(1);
    assert.deepEqual(pages.at(path!), []);
    assert.deepEqual(pages.at("/bluesky/callback"), []);
  });
});
