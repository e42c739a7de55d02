import assert from "node:assert/strict";
import { serve } from "../../../src/cli/commands/serve.ts";
import { Problem } from "../../../src/cli/problem.ts";
import type { Terminal } from "../../../src/cli/terminal/terminal.ts";
import { describe, it } from "../../suite.ts";

describe("parley serve, with a listener that fails permanently", () => {
  it("closes, and exits with 1 and the reason", function* () {
    let stopped = false;
    let streams: number | undefined;
    let error: unknown;
    try {
      yield* serve([], {
        port: 4711,
        host: "127.0.0.1",
        state: "here",
        keep: 7,
        maxMemory: 256,
        maxStore: 1_024,
        formPasswords: false,
        askWait: 20,
        browser: "never",
        logLevel: "silent",
        logFormat: "text",
        grace: 0,
      }, {
        version: "0.0.0",
        terminal: {} as Terminal,
        announced: [],
        shipped: () => Promise.resolve([]),
        own: {},
        packages: () => Promise.reject(new Error("no packages")),
        listen: (_fetch, { port, hostname, busy }) => {
          streams = busy?.();
          return Promise.resolve({
            port,
            hostname,
            failed: Promise.resolve(new Error("Address already in use (os error 98)")),
            stop: () => {
              stopped = true;
              return Promise.resolve();
            },
          });
        },
      });
    } catch (thrown) {
      error = thrown;
    }
    assert.ok(error instanceof Problem, `${error}`);
    assert.equal(error.exitCode, 1);
    assert.equal(
      error.message,
      "Cannot continue serving at http://127.0.0.1:4711/mcp: Address already in use (os error 98); start the server again",
    );
    assert.equal(stopped, true);
    assert.equal(streams, 0, "the listener can ask how many streams are open");
  });
});
