import assert from "node:assert/strict";
import { describe, it } from "../suite.ts";
import { type Checks, complaintsAbout, runSuite, runSuiteOnFixtures } from "./official-suite.ts";
import { sets } from "./scenarios.ts";

for (const { name, args, scenarios } of sets) {
  describe(`the official conformance suite, ${name}`, () => {
    // Run once, by whichever scenario comes first.
    let running: Promise<Checks> | undefined;
    for (const scenario of scenarios) {
      it(scenario, async () => {
        const checks = await (running ??= runSuiteOnFixtures(args));
        assert.deepEqual(complaintsAbout(checks.get(scenario)), []);
      }, { within: 120_000 });
    }
  });
}

describe("the judge", () => {
  it("fails if no server listens at the address", async () => {
    // The port of the discard service, which no test machine offers.
    const checks = await runSuite("http://127.0.0.1:9/mcp", ["--requirements", "2025-11-25"]);
    for (const scenario of sets[0]!.scenarios) {
      assert.notDeepEqual(complaintsAbout(checks.get(scenario)), [], scenario);
    }
  }, { within: 120_000 });

  it("counts a warning, a scenario that did not run, and one that checked nothing as failed", () => {
    assert.deepEqual(complaintsAbout([{ id: "a", status: "SUCCESS" }]), []);
    assert.equal(complaintsAbout(undefined).length, 1);
    assert.equal(complaintsAbout([]).length, 1);
    assert.equal(complaintsAbout([{ id: "wire-schema-valid", status: "SUCCESS" }]).length, 1);
    for (const status of ["WARNING", "FAILURE"] as const) {
      assert.equal(
        complaintsAbout([{ id: "a", status: "SUCCESS" }, { id: "b", status }]).length,
        1,
      );
    }
  });
});
