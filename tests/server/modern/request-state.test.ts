import assert from "node:assert/strict";
import fc from "fast-check";
import {
  canonical,
  contextOf,
  openState,
  type RequestState,
  sealState,
  type StateBinding,
  States,
} from "../../../src/server/modern/request-state.ts";
import { Sealer } from "../../../src/lib/sealer.ts";
import type { LiveToolSession } from "../../../src/session/tool-session.ts";
import { describe, it } from "../../suite.ts";

const sealer = new Sealer("a key");
const state: RequestState = { sessionId: "s-1", lsn: 7, expires: 1_000 };
const binding: StateBinding = {
  principal: "ada",
  method: "tools/call",
  params: {
    name: "book",
    arguments: { from: "Graz", to: ["Wien", "Linz"], seats: { a: 1, b: 2 } },
  },
};
const context = contextOf(binding);
const sealed = sealState(sealer, state, context);

describe("openState()", () => {
  it("returns what was sealed", () => {
    assert.deepEqual(openState(sealer, sealed, context, 999), state);
  });

  it("refuses an expired state", () => {
    assert.equal(openState(sealer, sealed, context, 1_000), undefined);
  });

  it("refuses another principal, method, name, address or argument", () => {
    const { params } = binding;
    const others: Partial<StateBinding>[] = [
      { principal: "eve" },
      { principal: "" },
      { method: "prompts/get" },
      { params: { ...params, name: "cancel" } },
      { params: { ...params, uri: "book" } },
      { params: { ...params, arguments: {} } },
      { params: { name: "book" } },
      { params: { ...params, arguments: { ...params.arguments as object, more: null } } },
      { params: { ...params, arguments: { from: "Graz", to: ["Linz", "Wien"], seats: {} } } },
    ];
    for (const other of others) {
      assert.equal(openState(sealer, sealed, contextOf({ ...binding, ...other }), 0), undefined);
    }
  });

  it("accepts the same call in another order, with other metadata and answers", () => {
    const params = {
      requestState: "x",
      inputResponses: { a: 1 },
      _meta: { progressToken: 1 },
      arguments: { seats: { b: 2, a: 1 }, to: ["Wien", "Linz"], from: "Graz" },
      name: "book",
    };
    assert.deepEqual(openState(sealer, sealed, contextOf({ ...binding, params }), 0), state);
  });

  it("treats missing arguments as empty", () => {
    const none = { ...binding, params: { name: "book" } };
    const empty = { ...binding, params: { name: "book", arguments: {} } };
    assert.deepEqual(
      openState(sealer, sealState(sealer, state, contextOf(none)), contextOf(empty), 0),
      state,
    );
  });

  it("refuses another server's state, and accepts one sealed with an older key", () => {
    assert.equal(openState(new Sealer("another key"), sealed, context, 0), undefined);
    assert.equal(openState(new Sealer(), sealed, context, 0), undefined);
    const rotated = new Sealer("a new key", "a key");
    assert.deepEqual(openState(rotated, sealed, context, 0), state);
    const fresh = sealState(rotated, state, context);
    assert.equal(openState(sealer, fresh, context, 0), undefined);
    assert.deepEqual(openState(new Sealer("a new key"), fresh, context, 0), state);
  });

  it("refuses what was sealed for another purpose", () => {
    assert.equal(openState(sealer, sealer.seal('["s-1",7,1000]'), context, 0), undefined);
  });

  it("refuses everything that is not a state", () => {
    fc.assert(fc.property(fc.anything(), (value) => {
      assert.equal(openState(sealer, value, context, 0), undefined);
    }));
  });

  it("refuses every state in which anything was changed", () => {
    const changed = fc.tuple(fc.nat(sealed.length - 1), fc.string({ minLength: 0, maxLength: 3 }))
      .map(([at, piece]) => sealed.slice(0, at) + piece + sealed.slice(at + 1))
      .filter((text) => text !== sealed);
    fc.assert(fc.property(changed, (text) => {
      assert.equal(openState(sealer, text, context, 0), undefined);
    }));
  });
});

describe("sealState()", () => {
  it("never returns the same text twice, and shows nothing of its content", () => {
    assert.notEqual(sealState(sealer, state, context), sealed);
    assert.ok(!atob(sealed.replaceAll("-", "+").replaceAll("_", "/")).includes("s-1"));
  });
});

describe("States", () => {
  const session = { portable: false } as LiveToolSession;
  const handOut = (states: States, lsn = state.lsn, to = binding) =>
    states.seal(session, { ...state, lsn }, to).requestState;
  // Nothing is cached in these: each time it is another request.
  const again = (other: Partial<StateBinding> = {}): StateBinding => {
    const { params } = binding;
    return { ...binding, params: { ...params }, ...other };
  };

  it("recognises its own states, for the same call and until they expire", () => {
    const states = new States(sealer);
    const own = handOut(states);
    assert.deepEqual(states.open(own, again(), 999), state);
    assert.deepEqual(states.open(own, again(), 999), state);
    assert.equal(states.open(own, again({ principal: "eve" }), 0), undefined);
    assert.equal(states.open(own, again({ method: "prompts/get" }), 0), undefined);
    const other = { ...binding.params, arguments: {} };
    assert.equal(states.open(own, again({ params: other }), 0), undefined);
    assert.equal(states.open(own, again(), 1_000), undefined);
    assert.equal(states.open(`${own.slice(0, -1)}!`, again(), 0), undefined);
  });

  it("returns states that any server with the same key can open", () => {
    const own = handOut(new States(sealer));
    assert.deepEqual(new States(new Sealer("a key")).open(own, again(), 0), state);
    assert.equal(new States(new Sealer("another key")).open(own, again(), 0), undefined);
  });

  it("opens states that it sealed long ago, and those for long arguments", () => {
    const states = new States(sealer);
    const long = again({ params: { name: "book", arguments: { text: "x".repeat(5_000) } } });
    const [own, forLong] = [handOut(states, 1), handOut(states, 2, long)];
    for (let lsn = 3; lsn < 5_000; lsn++) handOut(states, lsn);
    assert.deepEqual(states.open(own, again(), 0), { ...state, lsn: 1 });
    assert.deepEqual(states.open(forLong, long, 0), { ...state, lsn: 2 });
    assert.equal(states.open(own, again({ principal: "eve" }), 0), undefined);
  });
});

describe("canonical()", () => {
  it("is equal for equal JSON, whatever the order of its keys", () => {
    const shuffled = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(shuffled);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(
        Object.entries(value).reverse().map(([key, entry]) => [key, shuffled(entry)]),
      );
    };
    fc.assert(fc.property(fc.jsonValue(), (value) => {
      const plain = JSON.parse(JSON.stringify(value));
      assert.equal(canonical(shuffled(plain)), canonical(plain));
      assert.deepEqual(JSON.parse(canonical(plain)), plain);
    }));
  });

  it("differs for different JSON", () => {
    fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const [one, other] = [a, b].map((value) => JSON.parse(JSON.stringify(value)));
      fc.pre(!fc.stringify(one).includes("__proto__"));
      let same = true;
      try {
        assert.deepEqual(one, other);
      } catch {
        same = false;
      }
      assert.equal(canonical(one) === canonical(other), same);
    }));
  });
});
