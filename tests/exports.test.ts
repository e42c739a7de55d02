import assert from "node:assert/strict";
import { exportsOf } from "./harness/exports.ts";
import { readText } from "./harness/files.ts";
import { describe, it } from "./suite.ts";

/**
 * Everything that users may import: a change here is a change of the public
 * surface. To update it, paste what the failing test prints.
 */
const surface: string[] = [];

describe("src/mod.ts", () => {
  it("exports exactly the pinned names", () => {
    const now = exportsOf(readText("src/mod.ts"));
    assert.deepEqual(now, surface, `The surface is now:\n${JSON.stringify(now, null, 2)}`);
  });

  it("has at run time the values that its source names", async () => {
    const values = exportsOf(readText("src/mod.ts")).filter((name) => !name.startsWith("type "));
    assert.deepEqual(Object.keys(await import("../src/mod.ts")).sort(), values);
  });
});

describe("exportsOf()", () => {
  it("reads lists, renamed names, types and declarations", () => {
    assert.deepEqual(
      exportsOf(`
        // export { hidden } from "./x.ts";
        import { nothing } from "./nothing.ts";
        export { b, type C, d as e, type F as G } from "./a.ts";
        export type { H, I as J } from "./a.ts";
        export const k = 1;
        export function* l() {}
        export async function m() {}
        export abstract class N {}
        export interface O {}
        export type P = string;
      `),
      [
        "N",
        "b",
        "e",
        "k",
        "l",
        "m",
        "type C",
        "type G",
        "type H",
        "type J",
        "type O",
        "type P",
      ],
    );
  });

  it("refuses what hides a name", () => {
    assert.throws(() => exportsOf(`export * from "./a.ts";`), /name what it exports/);
    assert.throws(() => exportsOf(`export default 1;`), /name what it exports/);
  });
});
