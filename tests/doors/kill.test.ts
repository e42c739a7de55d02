/** A deferred call of a durable tool outlives kill -9 of its server. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../harness/files.ts";
import { currentRuntime, useRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { connectHost, ERAS, textOf, ticketOf } from "./host.ts";
import { answerPage, linkIn } from "./page.ts";

/** Starts one server after another with the same store. */
class Mortal {
  readonly #folder = mkdtempSync(join(tmpdir(), "parley-doors-kill-"));
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  constructor(...args: readonly string[]) {
    this.#args = args;
  }

  /** Starts the next server, and returns its URL. */
  async start(): Promise<string> {
    const name = currentRuntime();
    const run = name === "deno" ? ["run", "-A", "--no-check"] : ["run"];
    const store = `sqlite:${join(this.#folder, "store.db")}`;
    const args = ["src/main.ts", "serve", ...this.#args, "--port", "0", "--store", store];
    const child = this.#child = spawn(useRuntime(name).path, [...run, ...args], {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
    });
    return await new Promise((resolve, reject) => {
      let printed = "";
      const hear = (chunk: string) => {
        printed += chunk;
        const address = /http:\/\/\S+\/mcp(?=\s)/.exec(printed)?.[0];
        if (address) resolve(address);
      };
      child.stdout!.setEncoding("utf8").on("data", hear);
      child.stderr!.setEncoding("utf8").on("data", hear);
      child.once("exit", () => reject(new Error(`It never listened:\n${printed}`)));
    });
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  async end(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

for (const era of ERAS) {
  describe(`a deferred call whose server is killed, in the ${era} era`, () => {
    it("continues through the model", async () => {
      const servers = new Mortal("tools/play_ttt.ts", "--doors", "form,model");
      try {
        const host = async () => connectHost(era, fetch, { url: await servers.start() });
        let result = await (await host()).call("play_ttt");
        for (let moves = 0; moves < 2 && result.structuredContent.status === "waiting"; moves++) {
          await servers.kill();
          const [, cell] = /- cell: one of "(\d)"/.exec(textOf(result))!;
          const ticket = ticketOf(result);
          const next = await host();
          result = await next.call("continue_call", { ticket, answer: { cell } });
          // The same answer again counts once.
          const again = await next.call("continue_call", { ticket, answer: { cell } });
          assert.notEqual(again.isError, true);
        }
        assert.notEqual(result.isError, true);
      } finally {
        await servers.end();
      }
    });

    it("gets a new link to its page, because its port has changed", async () => {
      const servers = new Mortal("tools/book_flight.ts");
      try {
        const first = await (await connectHost(era, fetch, { url: await servers.start() })).call(
          "book_flight",
          { from: "BER", to: "LIS" },
        );
        const oldLink = linkIn(textOf(first));
        await servers.kill();
        const url = await servers.start();
        await assert.rejects(fetch(oldLink));
        const host = await connectHost(era, fetch, { url });
        // The address is the same except for the port, and is still valid there.
        const link = oldLink.replace(new URL(oldLink).origin, new URL(url).origin);
        const next = await answerPage(fetch, link, { flight: "0" });
        assert.match(next.html, /next question/);
        const continued = host.call("continue_call", { ticket: ticketOf(first) });
        await answerPage(fetch, link, { book: "true", seat: "0" });
        assert.equal((await continued).structuredContent.status, "booked");
      } finally {
        await servers.end();
      }
    });
  });
}
