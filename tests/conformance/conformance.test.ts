import assert from "node:assert/strict";
import { describe, it } from "../suite.ts";
import { type Checks, complaintsAbout, runSuite, runSuiteOnFixtures } from "./official-suite.ts";

interface Set {
  readonly name: string;
  /** What tells the suite to run it. */
  readonly args: readonly string[];
  /** What must have run and passed. */
  readonly scenarios: readonly string[];
}

const sets: readonly Set[] = [
  {
    name: "2025-11-25",
    args: ["--requirements", "2025-11-25"],
    scenarios: [
      "server-initialize",
      "logging-set-level",
      "ping",
      "completion-complete",
      "tools-list",
      "tools-call-simple-text",
      "tools-call-image",
      "tools-call-audio",
      "tools-call-embedded-resource",
      "tools-call-mixed-content",
      "tools-call-with-logging",
      "tools-call-error",
      "tools-call-with-progress",
      "tools-call-sampling",
      "tools-call-elicitation",
      "elicitation-sep1034-defaults",
      "server-sse-multiple-streams",
      "elicitation-sep1330-enums",
      "resources-list",
      "resources-read-text",
      "resources-read-binary",
      "resources-templates-read",
      "resources-subscribe",
      "resources-unsubscribe",
      "prompts-list",
      "prompts-get-simple",
      "prompts-get-with-args",
      "prompts-get-embedded-resource",
      "prompts-get-with-image",
      "dns-rebinding-protection",
      // Beyond the thirty that are scored:
      "server-session-lifecycle",
      "server-sse-polling",
      "json-schema-2020-12",
    ],
  },
  {
    name: "2026-07-28",
    args: ["--requirements", "2026-07-28"],
    scenarios: [
      "server-stateless",
      "completion-complete",
      "tools-list",
      "tools-call-simple-text",
      "tools-call-image",
      "tools-call-audio",
      "tools-call-embedded-resource",
      "tools-call-mixed-content",
      "tools-call-error",
      "tools-call-with-progress",
      "server-sse-multiple-streams",
      "resources-list",
      "resources-read-text",
      "resources-read-binary",
      "resources-templates-read",
      "sep-2164-resource-not-found",
      "prompts-list",
      "prompts-get-simple",
      "prompts-get-with-args",
      "prompts-get-embedded-resource",
      "prompts-get-with-image",
      "dns-rebinding-protection",
      "caching",
      "input-required-result-basic-elicitation",
      "input-required-result-basic-sampling",
      "input-required-result-basic-list-roots",
      "input-required-result-request-state",
      "input-required-result-multiple-input-requests",
      "input-required-result-multi-round",
      "input-required-result-missing-input-response",
      "input-required-result-non-tool-request",
      "input-required-result-result-type",
      "input-required-result-unsupported-methods",
      "input-required-result-tampered-state",
      "input-required-result-capability-check",
      "input-required-result-ignore-extra-params",
      "input-required-result-validate-input",
      // Beyond the thirty-seven that are scored; what it says of status notifications is not written.
      "tasks-lifecycle",
      "tasks-capability-negotiation",
      "tasks-wire-fields",
      "tasks-request-state-removal",
      "tasks-mrtr-input",
      "tasks-request-headers",
      "tasks-dispatch-and-envelope",
      "tasks-required-task-error",
      "tasks-mrtr-composition",
      "json-schema-2020-12",
      "http-header-validation",
      "http-custom-header-server-validation",
    ],
  },
];

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
  it("lets nothing pass at an address where nobody listens", async () => {
    // The port of the discard service, which nothing that runs tests offers.
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
