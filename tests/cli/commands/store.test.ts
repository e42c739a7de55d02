import assert from "node:assert/strict";
import { type Operation, scoped, until } from "effection";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { useStore } from "../../../src/cli/commands/store.ts";
import { root } from "../../harness/files.ts";
import { describe, it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";
import { TestClient } from "../../support/modern/client.ts";
import { type Program, runProgram, useProgram } from "../../support/program.ts";

const bookFlight = join(root, "tools/book_flight.ts");
const CALL = { name: "book_flight", arguments: { from: "BER", to: "LIS" } };

interface Round {
  readonly requestState: string;
  readonly inputRequests: { readonly [name: string]: unknown };
  readonly content?: readonly { readonly text: string }[];
}

function* serve(
  args: readonly string[],
  env: Record<string, string> = {},
): Operation<{ program: Program; next: (retry?: object) => Promise<Round> }> {
  const program = yield* useProgram(["serve", bookFlight, "--port", "0", ...args], { env });
  const [url] = yield* until(program.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
  const client = new TestClient(fetch, { url, capabilities: { elicitation: { form: {} } } });
  const next = (retry = {}) =>
    client.result("tools/call", { ...CALL, ...retry }) as unknown as Promise<Round>;
  return { program, next };
}

function* killed({ child, exit }: Program): Operation<void> {
  process.kill(child.pid!, "SIGKILL");
  yield* until(exit);
}

function choice({ requestState, inputRequests }: Round): object {
  const flight = /\b[A-Z]{2} ?\d{2,4}\b/.exec(JSON.stringify(inputRequests["choose"]))![0];
  return { requestState, inputResponses: { choose: { action: "accept", content: { flight } } } };
}

const yes = { action: "accept", content: { book: true, seat: "window" } };

describe("parley serve --store", () => {
  it("continues a booking after it was killed, with the key beside the store", function* () {
    const folder = yield* useFolder();
    const path = join(folder, "calls.db");
    const store = ["--store", `sqlite:${path}`];
    const first = yield* serve(store);
    const chosen = choice(yield* until(first.next()));
    yield* killed(first.program);
    assert.equal(statSync(`${path}.key`).mode & 0o777, 0o600);
    const key = readFileSync(`${path}.key`, "utf8");

    const second = yield* serve(store);
    const confirm = yield* until(second.next(chosen));
    assert.deepEqual(Object.keys(confirm.inputRequests), ["confirm"]);
    yield* killed(second.program);

    const third = yield* serve(store);
    const { requestState } = confirm;
    const last = yield* until(third.next({ requestState, inputResponses: { confirm: yes } }));
    assert.match(last.content![0]!.text, /^Booked \(sample data/);
    assert.equal(readFileSync(`${path}.key`, "utf8"), key);
  }, { within: 60_000 });

  it("leaves only the store and its key, and nothing for a store in memory", function* () {
    const folder = yield* useFolder();
    const path = join(folder, "calls.db");
    const key = yield* scoped(function* () {
      return (yield* useStore(`sqlite:${path}`)).key;
    });
    assert.deepEqual(readdirSync(folder).sort(), ["calls.db", "calls.db.key"]);
    assert.equal(readFileSync(`${path}.key`, "utf8"), `${key}\n`);
    const keys: (string | undefined)[] = [];
    for (let times = 0; times < 2; times++) {
      yield* scoped(function* () {
        keys.push((yield* useStore("sqlite::memory:")).key);
      });
    }
    assert.equal(new Set([key, ...keys]).size, 3);
    assert.equal(existsSync(":memory:.key"), false);
  });

  it(
    "reports what is wrong with the store or its key in one sentence, and does not serve",
    function* () {
      const folder = yield* useFolder();
      const path = join(folder, "calls.db");
      writeFileSync(`${path}.key`, "short\n");
      const cases: [args: string[], env: Record<string, string>, said: RegExp][] = [
        [
          ["--store", "calls.db"],
          {},
          /^Cannot open the store "calls.db": the address does not start with "sqlite:"; write it as sqlite:PATH$/m,
        ],
        [["--store", `sqlite:${folder}/no/calls.db`], {}, /it cannot be created/],
        [
          ["--store", `sqlite:${path}`],
          {},
          /^Cannot use the key file ".*" of the store: it does not contain a key/m,
        ],
        [
          ["--state", "sealed"],
          { PARLEY_KEY: "" },
          /^Cannot use --state sealed: .*; set PARLEY_KEY$/m,
        ],
        [["--keep", "0"], {}, /^Cannot use "0" for --keep: it must be a number of days/m],
        [
          ["--max-store", "0"],
          {},
          /^Cannot use "0" for --max-store: it must be a number of megabytes/m,
        ],
        [
          ["--max-memory", "x"],
          {},
          /^Cannot use "x" for --max-memory: it must be a number of mega/m,
        ],
      ];
      for (const [args, env, said] of cases) {
        const ended = yield* runProgram(["serve", bookFlight, "--port", "0", ...args], { env });
        assert.match(ended.stderr, said);
        assert.equal(ended.stderr.trim().split("\n").length, 1, ended.stderr);
        assert.notEqual(ended.code, 0);
      }
      assert.ok(existsSync(`${path}.key`));
    },
    { within: 60_000 },
  );

  it(
    "continues with another server and the same key only, if the tool allows it",
    function* () {
      const folder = yield* useFolder();
      const tool = join(folder, "greet.ts");
      writeFileSync(
        tool,
        `import { createMcpTool } from "parley-mcp";
       import { z } from "zod";
       export const greet = createMcpTool("book_flight").description("d").durable({ sealed: true })
         .parameters(z.looseObject({}))
         .elicits({ choose: { response: z.object({ flight: z.string() }) } })
         .execute(function* (_params, ctx) {
           const { action } = yield* ctx.elicit("choose", { message: "AB 123?" });
           return action;
         });`,
      );
      const env = { PARLEY_KEY: "a key that both of them have" };
      const started = function* () {
        const program = yield* useProgram(
          ["serve", tool, "--port", "0", "--state", "sealed"],
          { env },
        );
        const [url] = yield* until(program.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
        return new TestClient(fetch, { url, capabilities: { elicitation: { form: {} } } });
      };
      const [a, b] = [yield* started(), yield* started()];
      const round = yield* until(a.result("tools/call", CALL)) as unknown as Operation<Round>;
      const last = yield* until(b.result("tools/call", { ...CALL, ...choice(round) }));
      assert.match(JSON.stringify(last), /accept/);
    },
    { within: 60_000 },
  );
});
