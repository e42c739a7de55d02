import assert from "node:assert/strict";
import { describe, it } from "../suite.ts";
import { clientSets, EXTENSIONS } from "./client-scenarios.ts";
import { terminalAbsence } from "../support/pty.ts";
import { type Checks, complaintsAbout, runSuiteOnClient } from "./official-suite.ts";

/** Scenarios in which somebody at a terminal answers. */
const ASKING = ["elicitation-sep1034-client-defaults", "sep-2322-client-request-state"];

const within = { within: 240_000 };

for (const { name, args, scenarios } of clientSets) {
  // The set of the oldest revision runs everything; only sign-in differs there.
  const only = args.includes("--requirements") ? "" : "auth/";
  describe(`parley call in the official conformance suite, ${name}`, () => {
    // Run once, by whichever scenario comes first.
    let running: Promise<Checks> | undefined;
    const checks = () => running ??= runSuiteOnClient(args);

    for (const scenario of scenarios) {
      const test = ASKING.includes(scenario) ? it.unless(terminalAbsence) : it;
      test(scenario, async () => {
        assert.deepEqual(complaintsAbout((await checks()).get(scenario)), []);
      }, within);
    }

    it("has no other scenario, except extensions", async () => {
      const all = [...(await checks()).keys()].filter((one) => one.startsWith(only));
      const known = [...scenarios, ...Object.keys(EXTENSIONS)];
      assert.deepEqual(all.filter((one) => !known.includes(one)), []);
    }, within);
  });
}

describe("the judge of clients", () => {
  it("fails a client that does nothing", async () => {
    const { args, scenarios } = clientSets[1]!;
    const checks = await runSuiteOnClient(args, "tests/conformance/idle-client.ts");
    for (const scenario of scenarios) {
      assert.notDeepEqual(complaintsAbout(checks.get(scenario)), [], scenario);
    }
  }, within);
});
