/**
 * A server that is killed, and started again with the same files, until it is told to stay dead.
 * Callers wait until it reports that it listens.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness/files.ts";
import type { KillPlan, PassedPoint } from "./kill-points.ts";
import { serverProgram } from "./program.ts";
import type { Effect } from "./tools.ts";

/** Milliseconds after which a wait fails. */
const GUARD = 20_000;

export class MortalServer {
  readonly folder: string;
  readonly #nextPlan: () => KillPlan;
  #child!: ChildProcess;
  #address!: Promise<string>;
  #staysDead = false;
  #exited: Promise<unknown> = Promise.resolve();
  #mourners = new Set<() => void>();
  /** How often it was killed. */
  deaths = 0;
  /** Everything that it ever printed. */
  printed = "";

  /** `nextPlan` returns, for each start, where the server dies. */
  constructor(folder: string, nextPlan: () => KillPlan) {
    this.folder = folder;
    this.#nextPlan = nextPlan;
    this.#start();
  }

  /** Its address, once it listens. */
  readonly where = (): Promise<string> => this.#address;

  /**
   * Waits until it has been killed this many times; at the end of a flow that takes a few turns.
   */
  async died(times: number): Promise<void> {
    while (this.deaths < times) {
      await new Promise<void>((resolve, reject) => {
        const guard = setTimeout(
          () => reject(new Error("It never came to the point at which it was to die")),
          GUARD,
        );
        this.#mourners.add(() => {
          clearTimeout(guard);
          resolve();
        });
      });
    }
  }

  async stop(): Promise<void> {
    this.#staysDead = true;
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  /** The effects on the outside world, in order. */
  effects(flow: string): Effect[] {
    return linesOf(this.folder, "effects").map((line): Effect => JSON.parse(line))
      .filter((effect) => effect.flow === flow);
  }

  /** The points that a flow has passed, if they were recorded. */
  points(flow: string): PassedPoint[] {
    return linesOf(this.folder, "points").map((line): PassedPoint => JSON.parse(line))
      .filter((point) => point.flow === flow);
  }

  /** Asserts that no file it left behind holds this in clear text. */
  assertNowhere(secret: string): void {
    assert.ok(!this.printed.includes(secret), "it is in what the server printed");
    const files = readdirSync(this.folder);
    assert.ok(files.includes("store.db"), `its store is not among ${files}`);
    for (const file of files) {
      assert.ok(!readFileSync(join(this.folder, file)).includes(secret), `it is in ${file}`);
    }
  }

  #start(): void {
    const plan = { folder: this.folder, ...this.#nextPlan() };
    const [path, ...args] = serverProgram();
    const child = spawn(path, [...args, JSON.stringify(plan)], {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    const listening = Promise.withResolvers<string>();
    this.#address = listening.promise;
    // Nobody may be waiting for it when it dies.
    listening.promise.catch(() => {});
    let said = "";
    const hear = (chunk: string) => {
      this.printed += chunk;
      said += chunk;
      const address = /^(http:\S+)\n/m.exec(said)?.[1];
      if (address) listening.resolve(address);
    };
    child.stdout!.setEncoding("utf8").on("data", hear);
    child.stderr!.setEncoding("utf8").on("data", hear);
    this.#exited = once(child, "exit");
    child.once("exit", (_code, signal) => {
      if (this.#staysDead) return listening.reject(new Error("It was told to stay dead"));
      if (signal !== "SIGKILL") {
        this.#staysDead = true;
        const problem = new Error(`The server ended by itself, with ${signal}:\n${said}`);
        this.#address = Promise.reject(problem);
        this.#address.catch(() => {});
        return listening.reject(problem);
      }
      this.deaths++;
      this.#start();
      for (const wake of [...this.#mourners]) wake();
      this.#mourners.clear();
      listening.resolve(this.#address);
    });
  }
}

function linesOf(folder: string, file: string): string[] {
  if (!readdirSync(folder).includes(file)) return [];
  return readFileSync(join(folder, file), "utf8").split("\n").filter((line) => line !== "");
}
