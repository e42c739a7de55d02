import assert from "node:assert/strict";
import { until } from "effection";
import { join } from "node:path";
import { Writable } from "node:stream";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { HeldOutput } from "./held-output.ts";

/** A reader; `slowly`, it reads each chunk only when the test says so. */
class Reader extends Writable {
  text = "";
  #slowly: boolean;
  #next: (() => void) | undefined;

  constructor(slowly = false) {
    super();
    this.#slowly = slowly;
  }

  override _write(chunk: Uint8Array, _encoding: string, done: () => void) {
    this.text += new TextDecoder().decode(chunk);
    if (this.#slowly) this.#next = done;
    else done();
  }

  hurry(): void {
    this.#slowly = false;
    this.#next?.();
  }
}

describe("HeldOutput", () => {
  it("prints nothing until it is released, then everything", function* () {
    const reader = new Reader();
    const output = new HeldOutput(join(yield* useFolder(), "held"), reader);
    output.write("one\n");
    output.write("two\n");
    assert.equal(reader.text, "");
    yield* until(output.show());
    assert.equal(reader.text, "one\ntwo\n");
    output.write("three\n");
    assert.equal(reader.text, "one\ntwo\nthree\n");
  });

  it("prints output that has ended already, however much it is", function* () {
    const reader = new Reader();
    const output = new HeldOutput(join(yield* useFolder(), "held"), reader);
    const long = "0123456789".repeat(50_000);
    yield* until(new Promise<void>((resolve) => output.end(long, resolve)));
    yield* until(output.show());
    assert.equal(reader.text, long);
  });

  it("keeps the order if more comes while it prints", function* () {
    const reader = new Reader(true);
    const output = new HeldOutput(join(yield* useFolder(), "held"), reader);
    output.write("one\n");
    const shown = output.show();
    output.write("two\n");
    assert.equal(reader.text, "one\n");
    reader.hurry();
    yield* until(shown);
    output.write("three\n");
    assert.equal(reader.text, "one\ntwo\nthree\n");
  });

  it("has ended only when the reader has everything", function* () {
    const reader = new Reader(true);
    const output = new HeldOutput(join(yield* useFolder(), "held"), reader);
    yield* until(output.show());
    let ended = false;
    const end = new Promise<void>((resolve) => output.end("one\n", resolve))
      .then(() => ended = true);
    yield* until(new Promise((resolve) => setTimeout(resolve, 0)));
    assert.deepEqual([reader.text, ended], ["one\n", false]);
    reader.hurry();
    yield* until(end);
  });
});
