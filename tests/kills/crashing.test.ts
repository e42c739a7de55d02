import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { root } from "../harness/files.ts";
import { currentRuntime, useRuntime } from "../harness/toolchain.ts";
import { describe, it } from "../suite.ts";
import { ABLE, TestClient, textOf } from "../support/legacy/client.ts";
import { inFolder } from "./folder.ts";

const accept = { action: "accept", content: { text: "fine" } };

/** A process and its output so far. */
class Server {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #gone: Promise<unknown>;
  #said = "";
  #isGone = false;
  #news = () => {};

  constructor(folder: string, crash?: "exit" | "spin" | "late") {
    const name = currentRuntime();
    const { path } = useRuntime(name);
    const script = join(root, "tests/kills/crashing-server.ts");
    const run = name === "deno" ? ["run", "-A", "--no-check", script] : ["run", script];
    this.#child = spawn(path, [...run, JSON.stringify({ folder, crash })], { cwd: root });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        this.#said += text;
        this.#news();
      });
    }
    this.#child.stdin.on("error", () => {});
    this.#gone = once(this.#child, "close").then(() => {
      this.#isGone = true;
      this.#news();
    });
  }

  /** What follows a word, once it has been printed. */
  // deno-lint-ignore no-explicit-any
  async says(word: string): Promise<any> {
    for (;;) {
      const line = this.lines(word)[0];
      if (line !== undefined) return line;
      if (this.#isGone) throw new Error(`It went before it said "${word}":\n${this.#said}`);
      await new Promise<void>((resolve) => this.#news = resolve);
    }
  }

  // deno-lint-ignore no-explicit-any
  lines(word: string): any[] {
    return this.#said.split("\n").slice(0, -1).filter((line) => line.startsWith(`${word} `))
      .map((line) => JSON.parse(line.slice(word.length + 1)));
  }

  tell(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  async gone(): Promise<void> {
    await this.#gone;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#gone;
  }
}

describe("a durable call whose step ends the server", () => {
  for (const crash of ["exit", "spin"] as const) {
    it(
      `(${crash}) is set aside after three attempts; the others continue; an operator revives it`,
      () =>
        inFolder(async (folder) => {
          const servers: Server[] = [];
          const start = (plan?: "exit" | "spin") => {
            const server = new Server(folder, plan);
            servers.push(server);
            return server;
          };
          try {
            let where = "";
            const fetching = (request: Request) =>
              fetch(new Request(request.url.replace(/^.*\/mcp/, where), request));
            const first = start(crash);
            where = await first.says("listening");
            const client = await TestClient.connect(fetching, { capabilities: ABLE });
            const asked = async (tool: string) => {
              const call = await client.call(tool);
              return { call, question: await call.expect("elicitation/create") };
            };
            const [patient, busy] = [await asked("patient"), await asked("busy")];
            const doomed = await asked("crashing");
            await client.answer(busy.question, accept);
            await first.says("busy");
            const answered = client.answer(doomed.question, accept).catch(() => {});
            await first.says("begun");
            await (crash === "exit" ? first.gone() : first.kill());
            await answered;

            for (let attempt = 1; attempt <= 3; attempt++) {
              const next = start(crash);
              await next.says("begun");
              await (crash === "exit" ? next.gone() : next.kill());
              assert.deepEqual(next.lines("aside"), []);
            }

            const survivor = start(crash);
            where = await survivor.says("listening");
            const [aside, ...more] = await survivor.says("aside");
            assert.deepEqual(more, []);
            assert.equal(aside.tool, "crashing");
            assert.equal(aside.setAside.attempts, 3);
            assert.ok(doomed.question.id!.toString().includes(aside.id));
            const report = survivor.lines("report").find(({ what }) => /set aside/.test(what));
            assert.equal(report.toolName, "crashing");
            assert.equal(report.sessionId, aside.id);
            assert.equal((await client.answer(patient.question, accept)).status, 202);
            const told = await client.listen(patient.call.lastEventId);
            assert.equal(textOf((await told.rest()).at(-1)!.result), "fine");
            await survivor.says("busy");
            // A request for the call gets an error, and does not end the server either.
            const refused = await client.listen(doomed.call.lastEventId);
            assert.equal(refused.status, 409);
            assert.match(
              JSON.stringify(await refused.rest()),
              /set aside; call the tool again, or/,
            );
            assert.deepEqual(survivor.lines("begun"), []);
            await survivor.kill();

            const mended = start();
            where = await mended.says("listening");
            await mended.says("aside");
            assert.deepEqual(mended.lines("begun"), [], "it stays set aside");
            mended.tell(aside.id);
            assert.equal(await mended.says("revived"), true);
            assert.deepEqual(await mended.says("left"), []);
            const resumed = await client.listen(doomed.call.lastEventId);
            assert.equal(textOf((await resumed.rest()).at(-1)!.result), "survived");
          } finally {
            for (const server of servers) await server.kill();
          }
        }),
      { within: 120_000 },
    );
  }

  it(
    "(late) is set aside although it works for ten seconds before each crash; a call that works on is not",
    () =>
      inFolder(async (folder) => {
        const servers: Server[] = [];
        const start = () => {
          const server = new Server(folder, "late");
          servers.push(server);
          return server;
        };
        try {
          const first = start();
          const where = await first.says("listening");
          const fetching = (request: Request) =>
            fetch(new Request(request.url.replace(/^.*\/mcp/, where), request));
          const client = await TestClient.connect(fetching, { capabilities: ABLE });
          const asked = async (tool: string) =>
            await (await client.call(tool)).expect("elicitation/create");
          const [busy, doomed] = [await asked("busy"), await asked("crashing")];
          await client.answer(busy, accept);
          await first.says("busy");
          await client.answer(doomed, accept).catch(() => {});
          await first.gone();
          for (let crashes = 1;; crashes++) {
            assert.ok(crashes < 20, "it is never set aside");
            const next = start();
            // It says nothing more if it crashes.
            const aside = await next.says("aside").catch(() => undefined);
            if (!aside) continue;
            assert.deepEqual(aside.map(({ tool }: { tool: string }) => tool), ["crashing"]);
            await next.says("busy");
            assert.deepEqual(next.lines("begun"), []);
            break;
          }
        } finally {
          for (const server of servers) await server.kill();
        }
      }),
    { within: 120_000 },
  );
});
