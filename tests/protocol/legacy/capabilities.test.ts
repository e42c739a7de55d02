import assert from "node:assert/strict";
import { declaredCapabilities } from "../../../src/protocol/legacy/capabilities.ts";
import { describe, it } from "../../suite.ts";

const everything = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: { listChanged: true },
  experimental: { x: {} },
};

describe("declaredCapabilities()", () => {
  it("takes everything in 2025-11-25", () => {
    assert.deepEqual(declaredCapabilities(everything, "2025-11-25"), everything);
  });

  it("knows no modes and no tools in 2025-06-18", () => {
    assert.deepEqual(declaredCapabilities(everything, "2025-06-18"), {
      ...everything,
      elicitation: {},
      sampling: {},
    });
  });

  it("knows no elicitation before that", () => {
    for (const version of ["2025-03-26", "2024-11-05"] as const) {
      assert.deepEqual(declaredCapabilities(everything, version), {
        sampling: {},
        roots: { listChanged: true },
        experimental: { x: {} },
      });
    }
  });

  it("takes only an object for a declaration", () => {
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
