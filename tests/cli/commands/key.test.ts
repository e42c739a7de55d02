import assert from "node:assert/strict";
import { sealerFrom } from "../../../src/cli/commands/key.ts";
import { OperatorLog } from "../../../src/cli/log.ts";
import { Problem } from "../../../src/cli/problem.ts";
import { describe, it } from "../../suite.ts";

function made(PARLEY_KEY?: string) {
  const lines: string[] = [];
  const log = new OperatorLog({
    level: "info",
    format: "json",
    write: (line) => lines.push(JSON.parse(line).message),
  });
  return { sealer: sealerFrom({ PARLEY_KEY }, log), lines };
}

const OLD = "an old key that is long enough";
const NEW = "a new key that is long enough";

describe("sealerFrom()", () => {
  it("takes the key from the environment, and prints nothing", () => {
    const { sealer, lines } = made(OLD);
    assert.deepEqual(lines, []);
    assert.equal(made(` ${OLD} `).sealer.open(sealer.seal("x")), "x");
  });

  it("seals with the first of several keys and opens with all", () => {
    const { sealer } = made(`${NEW}, ${OLD}`);
    assert.equal(sealer.open(made(OLD).sealer.seal("x")), "x");
    assert.equal(made(NEW).sealer.open(sealer.seal("x")), "x");
    assert.equal(made(OLD).sealer.open(sealer.seal("x")), undefined);
  });

  it("creates a key if there is none, and says what that means", () => {
    for (const empty of [undefined, "", " , "]) {
      const { sealer, lines } = made(empty);
      assert.equal(lines.length, 1);
      assert.match(lines[0]!, /PARLEY_KEY is not set/);
      assert.equal(made(empty).sealer.open(sealer.seal("x")), undefined);
    }
  });

  it("refuses a key that could be guessed, without repeating it", () => {
    assert.throws(
      () => made(`${OLD},secret`),
      (error: unknown) => error instanceof Problem && !error.message.includes("secret"),
    );
  });
});
