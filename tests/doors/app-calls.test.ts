import assert from "node:assert/strict";
import { AppCalls } from "../../src/server/doors/answer-call.ts";
import type { LiveToolSession } from "../../src/session/tool-session.ts";
import { describe, it } from "../suite.ts";

const MAX = 1_000;

/** The part of a session that its view needs. */
function session(id: string): LiveToolSession {
  return { id, toolName: "pick", log: { stir() {} } } as unknown as LiveToolSession;
}

describe("the calls that views can find", () => {
  it("are not forgotten because another caller makes many", () => {
    const apps = new AppCalls();
    apps.expect(session("ann"), { n: 0 }, "ann");
    for (let n = 0; n < 2 * MAX; n++) apps.expect(session(`bob-${n}`), { n }, "bob");
    assert.equal(apps.expected.size, MAX);
    assert.equal(apps.find("ann", "pick", { n: 0 })?.id, "ann");
    // Of the caller with the most calls, the oldest are forgotten.
    assert.equal(apps.find("bob", "pick", { n: MAX }), undefined);
    assert.equal(apps.find("bob", "pick", { n: MAX + 1 })?.id, `bob-${MAX + 1}`);
    assert.equal(apps.find("bob", "pick", undefined)?.id, `bob-${2 * MAX - 1}`);
  });

  it("are found only in the scope of their own client, and until they end", () => {
    const apps = new AppCalls();
    const [one, other] = [{}, {}];
    const call = session("a");
    apps.expect(call, {}, one);
    assert.equal(apps.find(other, "pick", {}), undefined);
    assert.equal(apps.find("ann", "pick", {}), undefined);
    assert.equal(apps.find(one, "pick", {}), call);
    apps.ended(call);
    assert.equal(apps.find(one, "pick", {}), undefined);
    assert.equal(apps.expected.size, 0);
  });
});
