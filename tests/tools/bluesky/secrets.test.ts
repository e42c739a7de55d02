/** Secrets reach nobody who must not see them. */
import assert from "node:assert/strict";
import { until } from "effection";
import { createManualClock } from "parley-mcp";
import { LiveToolSessionRegistry } from "../../../src/registry/registry.ts";
import { InMemoryToolSessionStore } from "parley-mcp";
import { describe, it } from "../../suite.ts";
import { event } from "./events.ts";
import { FakeService, PERSON, refusal } from "./fake-service.ts";
import { script, typeInto, useFakeWorld } from "./fake-world.ts";

const { handle, appPassword, mainPassword } = PERSON;

/** What must not be visible: passwords, and tokens of the fake service. */
const SECRETS = [appPassword, mainPassword, "SECRETaccess", "SECRETrefresh", "wr0ng-passw0rd"];

function clean(what: string, texts: readonly unknown[]): void {
  const text = JSON.stringify(
    texts,
    (_, value) =>
      value instanceof Error ? `${value.stack} ${JSON.stringify(value)} ${value.cause}` : value,
  );
  for (const secret of SECRETS) {
    assert.ok(!text.includes(secret), `${what} shows ${secret}: ${text}`);
  }
}

for (const era of ["legacy", "modern"] as const) {
  describe(`secrets (${era})`, () => {
    it("are in no result, event, log or error, in success and failure", function* () {
      const told: unknown[] = [];
      const printed: unknown[][] = [];
      const { error, warn, log: print } = console;
      console.error = console.warn = console.log = (...args) => void printed.push(args);
      try {
        const world = yield* useFakeWorld({ era, can: "form", formPasswords: true });
        const { call, assistant, service, faults, log, signIn, vault } = world;
        const form = { action: "accept", content: { way: "app-password" } } as const;
        const credentials = (password: string) => ({
          action: "accept" as const,
          content: { handle, password },
        });
        for (const password of [appPassword, mainPassword, "wr0ng-passw0rd"]) {
          assistant.answer = script(form, credentials(password));
          told.push(yield* call("login"));
          told.push(yield* call("login", { handle, password }));
        }
        assistant.answer = script({ action: "accept", content: { way: "oauth" } });
        const { data } = yield* call("login", {});
        told.push(data, yield* until(fetch(data.link).then((page) => page.text())));
        const page = data.link.replace("/oauth", "");
        told.push(
          yield* until(typeInto(page, { handle, password: "x" }).then((one) => one.text())),
        );
        yield* signIn();
        told.push(yield* call("profile"), yield* call("search", { query: "x" }));
        // Services that repeat what they received, or fail.
        service.instead.set(
          "createSession",
          ({ body }) => refusal(400, "Odd", JSON.stringify(body)),
        );
        service.instead.set(
          "getProfile",
          ({ authorization }) => refusal(403, "Odd", `stack trace with ${authorization}`),
        );
        service.instead.set("searchPosts", () => new Response("<html>"));
        const odd = yield* call("login", { handle, password: appPassword });
        assert.match(odd.text, /fake\.example refused the request: .*•••/);
        told.push(odd);
        told.push(yield* call("profile"), yield* call("search", { query: "x" }));
        vault.broken = new Error("the disk is on fire");
        told.push(yield* call("login", { command: "list" }));
        vault.broken = undefined;
        told.push(yield* call("login", { command: "delete", handle }));
        clean("what was told", told);
        clean("the faults", faults.map(({ error, what }) => [what, error]));
        clean("the log", log);
      } finally {
        Object.assign(console, { error, warn, log: print });
      }
      clean("the console", printed);
    });
  });
}

describe("the log of a call", () => {
  it("masks a password that a form asked for, wherever it is kept", function* () {
    const service = new FakeService();
    const { createBlueskyTools } = yield* until(import("../../../tools/bluesky.ts"));
    const { defaultSetup } = yield* until(import("../../../tools/bluesky/setup.ts"));
    const { MemoryVault } = yield* until(import("../../support/memory-vault.ts"));
    const vault = new MemoryVault();
    const { login } = createBlueskyTools({
      ...defaultSetup({}),
      vault: () => Promise.resolve(vault),
      service: service.url,
      network: service.network,
    });
    const store = new InMemoryToolSessionStore();
    const clock = createManualClock();
    const registry = new LiveToolSessionRegistry({ clock, store });
    try {
      const client = { capabilities: { elicitation: { form: {} } } };
      const args = { handle, method: "app-password" };
      const session = registry.open(login, args, { client });
      const { id } = (yield* until(event(session, "elicit_request"))) as { id: string };
      session.respond(id, { action: "accept", content: { password: appPassword } });
      yield* until(event(session, "result"));
      const events = [];
      for (let lsn = 0; lsn < session.log.lastLSN; lsn++) events.push(session.log.next(lsn));
      assert.match(JSON.stringify(events), /•••/);
      clean("the log", events);
      clean("the store", [store]);
    } finally {
      yield* until(registry.close());
    }
  });
});
