import assert from "node:assert/strict";
import { type Operation, resource, scoped, until } from "effection";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyFormerStore } from "../../fixtures/store-format-3/open.ts";
import { root } from "../../harness/files.ts";
import { describe, it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";
import { runProgram, useProgram } from "../../support/program.ts";

const bookFlight = join(root, "tools/book_flight.ts");
const KEY = "a key that is long enough for it";
const OTHER = "another key that is long enough";

/** A store with waiting calls, and the key beside it. */
function useCalls(): Operation<string> {
  return resource(function* (provide) {
    const { path, remove } = copyFormerStore();
    try {
      yield* provide(path);
    } finally {
      remove();
    }
  });
}

/** Starts a server with the store, and stops it once it serves. */
function* starts(path: string, env: Record<string, string> = {}): Operation<void> {
  yield* scoped(function* () {
    const program = yield* useProgram(
      ["serve", bookFlight, "--port", "0", "--store", `sqlite:${path}`],
      { env },
    );
    yield* until(program.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
    program.child.kill("SIGTERM");
    yield* until(program.exit);
  });
}

/** The one-line error with which it does not start. */
function* refuses(path: string, env: Record<string, string> = {}): Operation<string> {
  const ended = yield* runProgram(
    ["serve", bookFlight, "--port", "0", "--store", `sqlite:${path}`],
    { env },
  );
  assert.notEqual(ended.code, 0, ended.stderr);
  assert.equal(ended.stderr.trim().split("\n").length, 1, ended.stderr);
  return ended.stderr;
}

describe("parley serve --store without the store's key", () => {
  it(
    "does not start if the key file is missing, creates no other, and says what to do",
    function* () {
      const path = yield* useCalls();
      yield* starts(path);
      renameSync(`${path}.key`, `${path}.away`);
      const said = yield* refuses(path);
      assert.match(
        said,
        /^Cannot use the store ".*calls\.db": its key file ".*calls\.db\.key" is missing/,
      );
      assert.match(said, /; restore it from a backup, .* PARLEY_KEY/);
      assert.equal(existsSync(`${path}.key`), false);
      renameSync(`${path}.away`, `${path}.key`);
      yield* starts(path);
    },
    { within: 60_000 },
  );

  it("does not start with another key, and changes nothing", function* () {
    const path = yield* useCalls();
    yield* starts(path);
    const key = readFileSync(`${path}.key`, "utf8");
    writeFileSync(`${path}.key`, `${"x".repeat(43)}\n`);
    const said = yield* refuses(path);
    assert.match(
      said,
      /^Cannot use the store ".*": it was written with another key \(id [0-9a-f]{8}\)/,
    );
    assert.match(said, /; .*PARLEY_KEY/);
    assert.ok(!said.includes("xxx"), "no key is said");
    writeFileSync(`${path}.key`, key);
    yield* starts(path);
  }, { within: 60_000 });

  it(
    "accepts another key in PARLEY_KEY only together with the former one, as in a rotation",
    function* () {
      const path = yield* useCalls();
      yield* starts(path, { PARLEY_KEY: KEY });
      assert.match(yield* refuses(path, { PARLEY_KEY: OTHER }), /written with another key/);
      yield* starts(path, { PARLEY_KEY: `${OTHER},${KEY}` });
      // Calls from before the rotation may need the former key.
      assert.match(yield* refuses(path, { PARLEY_KEY: OTHER }), /written with another key/);
      assert.match(yield* refuses(path, { PARLEY_KEY: KEY }), /written with another key/);
    },
    { within: 60_000 },
  );

  it("does not start with a store of format 3 whose key is missing", function* () {
    const path = yield* useCalls();
    rmSync(`${path}.key`);
    assert.match(yield* refuses(path), /its key file ".*" is missing/);
  }, { within: 60_000 });

  it(
    "does not take a wrong key for the key of a store of format 3, and creates no key file",
    function* () {
      const path = yield* useCalls();
      renameSync(`${path}.key`, `${path}.away`);
      assert.match(yield* refuses(path, { PARLEY_KEY: KEY }), /written with another key/);
      assert.equal(existsSync(`${path}.key`), false);
      const right = readFileSync(`${path}.away`, "utf8").trim();
      yield* starts(path, { PARLEY_KEY: right });
      assert.equal(existsSync(`${path}.key`), false);
      renameSync(`${path}.away`, `${path}.key`);
      yield* starts(path);
    },
    { within: 60_000 },
  );

  it("starts with a store that holds no calls, and creates a key for it", function* () {
    const path = join(yield* useFolder(), "calls.db");
    yield* starts(path, { PARLEY_KEY: KEY });
    assert.equal(existsSync(`${path}.key`), false, "no key is needed beside the one given");
    yield* starts(path);
    rmSync(`${path}.key`);
    yield* starts(path);
    assert.ok(existsSync(`${path}.key`));
  }, { within: 60_000 });
});
