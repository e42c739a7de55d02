import assert from "node:assert/strict";
import { declaredCapabilities } from "../../../src/wire/legacy/capabilities.ts";
import { describe, it } from "../../suite.ts";

const everything = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: { listChanged: true },
  experimental: { x: {} },
};

describe("declaredCapabilities()", () => {
  it("accepts everything in 2025-11-25", () => {
    assert.deepEqual(declaredCapabilities(everything, "2025-11-25"), everything);
  });

  it("keeps the elicitation modes in every revision, and no tools before 2025-11-25", () => {
    for (const version of ["2025-06-18", "2025-03-26", "2024-11-05"] as const) {
      assert.deepEqual(declaredCapabilities(everything, version), { ...everything, sampling: {} });
    }
  });

  it("accepts elicitation without a mode from 2025-06-18 on", () => {
    const bare = { elicitation: {} };
    assert.deepEqual(declaredCapabilities(bare, "2025-06-18"), bare);
    for (const version of ["2025-03-26", "2024-11-05"] as const) {
      assert.deepEqual(declaredCapabilities(bare, version), {});
    }
  });

  it("accepts only objects as declarations", () => {
    for (const nothing of [null, false, true, "yes", 1, []]) {
      const declared = { elicitation: nothing, sampling: nothing, roots: nothing };
      assert.deepEqual(declaredCapabilities(declared, "2025-11-25"), {}, JSON.stringify(nothing));
      const modes = { elicitation: { form: {}, url: nothing }, sampling: { tools: nothing } };
      assert.deepEqual(declaredCapabilities(modes, "2025-11-25"), {
        elicitation: { form: {} },
        sampling: {},
      });
    }
  });
});
