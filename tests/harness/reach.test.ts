import assert from "node:assert/strict";
import { describe, it } from "../suite.ts";
import { reaches } from "./reach.ts";

describe("reaches()", () => {
  it("follows imports through any number of modules, and only those of the tests", () => {
    const here = ["tests/harness/reach.test.ts"];
    assert.equal(reaches(here, "tests/harness/reach.ts"), true);
    assert.equal(reaches(here, "tests/harness/tokens.ts"), true);
    assert.equal(reaches(here, "tests/bluesky-net/network.ts"), false);
    assert.equal(
      reaches(["tests/bluesky-net/network.test.ts"], "tests/bluesky-net/network.ts"),
      true,
    );
    assert.equal(reaches(["tests/no-such.test.ts"], "tests/harness/reach.ts"), false);
  });
});
