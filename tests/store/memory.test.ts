import assert from "node:assert/strict";
import { InMemoryToolSessionStore } from "../../src/store/memory.ts";
import { describe, it } from "../suite.ts";
import { storeContract } from "./contract.ts";

storeContract("InMemoryToolSessionStore", () => new InMemoryToolSessionStore());

describe("InMemoryToolSessionStore.size", () => {
  it("counts the stored sessions", function* () {
    const store = new InMemoryToolSessionStore();
    const entry = { toolName: "t", params: {}, createdAt: 0, epoch: 1 };
    yield* store.set("a", { ...entry, id: "a" });
    yield* store.set("b", { ...entry, id: "b" });
    yield* store.set("a", { ...entry, id: "a" });
    assert.equal(store.size, 2);
    yield* store.delete("a");
    assert.equal(store.size, 1);
  });
});
