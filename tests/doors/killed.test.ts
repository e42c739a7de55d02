/**
 * The scenario "killed" of the table. All its cells share a process: every client calls, the process
 * is killed with SIGKILL while all their questions are open, it starts again with the same stores,
 * and every client goes on.
 */
import assert from "node:assert/strict";
import { Sealer } from "parley-mcp";
import { ISSUER } from "../auth/issuer.ts";
import { ORIGIN } from "../support/exchange.ts";
import { PatientClient } from "../support/legacy/patient-client.ts";
import { describe, it } from "../suite.ts";
import { Conversation, type World } from "./conversation.ts";
import { connectHost, ERAS, type Host, type HostOptions } from "./host.ts";
import { KilledServers } from "./killed.ts";
import { SignedInPerson } from "./signed-in-person.ts";
import { StdioClient } from "./stdio.ts";
import { BY, callsOf, type Cell, expected, KINDS, SERVERS, TRANSPORTS } from "./table.ts";

const KEY = "a key that outlasts the server";

/** Each party arrives once. The last one to arrive triggers what all of them wait for. */
class Barrier {
  readonly #missing: Set<unknown>;
  readonly #done = Promise.withResolvers<void>();
  readonly #trigger: () => Promise<void>;

  constructor(parties: Iterable<unknown>, trigger: () => Promise<void>) {
    this.#missing = new Set(parties);
    this.#trigger = trigger;
  }

  arrive(party: unknown): Promise<void> {
    if (this.#missing.delete(party) && this.#missing.size === 0) {
      this.#trigger().then(this.#done.resolve, this.#done.reject);
    }
    return this.#done.promise;
  }
}

function serverOf({ transport, server, by, kind }: Cell): string {
  const pages = server === "pages" ? "pages" : "bare";
  if (transport === "stdio") {
    return `stdio-${pages}-${kind === "declines at once" ? "slow" : "fast"}`;
  }
  if (by === "signed-in") return `http-${pages}-signed`;
  return `http-${pages}-${kind === "declines at once" ? "slow" : "fast"}`;
}

class KilledWorld implements World {
  readonly #cell: Cell;
  readonly #servers: KilledServers;
  readonly #barrier: Barrier;
  readonly #person: SignedInPerson;
  #host: Host | undefined;
  readonly #restarted = Promise.withResolvers<void>();

  constructor(cell: Cell, servers: KilledServers, barrier: Barrier, person: SignedInPerson) {
    this.#cell = cell;
    this.#servers = servers;
    this.#barrier = barrier;
    this.#person = person;
  }

  get #isSigned(): boolean {
    return this.#cell.by === "signed-in" && this.#cell.transport === "HTTP";
  }

  async connect({ era, transport }: Cell, options: HostOptions): Promise<Host> {
    return this.#host = await this.#connect(era, transport, options);
  }

  async #connect(
    era: Cell["era"],
    transport: Cell["transport"],
    options: HostOptions,
  ): Promise<Host> {
    const server = serverOf(this.#cell);
    const servers = this.#servers;
    if (transport === "stdio") {
      return new StdioClient(era, servers.channel(server), options);
    }
    const headers = this.#isSigned ? await this.#person.headers({ now: Date.now }) : {};
    if (era === "modern") {
      return await connectHost(era, (request) => servers.fetch(server, request), {
        ...options,
        headers,
      });
    }
    const client = new PatientClient(
      () => servers.where(server),
      ({ method, params }) => options.answer!({ method: method!, params }),
      headers,
    );
    await client.connect(options.capabilities!, options.name);
    return {
      call: (name, args = {}) => client.call(name, args),
      request: () => Promise.reject(new Error("not needed")),
      rounds: 0,
    };
  }

  readonly browse = (request: Request) => {
    if (this.#isSigned) {
      request.headers.set("cookie", this.#person.cookie(new Sealer(KEY), Date.now()));
    }
    return this.#servers.browse(serverOf(this.#cell), request);
  };

  async settled(result: Promise<unknown>, _wait: number, isSilent: boolean) {
    if (!isSilent) return await result;
    // Until the server was killed, and has served another request of this client since then.
    const isOver = this.#restarted.promise.then(() => this.#host!.call("continue_call", {}));
    return await Promise.race([result, isOver.then(() => undefined)]);
  }

  async interrupted(): Promise<boolean> {
    await this.#barrier.arrive(this.#cell);
    this.#restarted.resolve();
    return true;
  }
}

describe("a question that is open when its server is killed", () => {
  it("gets its answer from the next server", async () => {
    const cells: Cell[] = ERAS.flatMap((era) =>
      TRANSPORTS.flatMap((transport) =>
        KINDS.flatMap((kind) =>
          BY.flatMap((by) =>
            SERVERS.map((server) => ({
              era,
              transport,
              kind,
              by,
              server,
              scenario: "killed" as const,
            }))
          )
        )
      )
    );
    const person = await SignedInPerson.create();
    const servers = new KilledServers({
      publicUrl: ORIGIN,
      key: KEY,
      issuer: ISSUER,
      documents: await person.documents(),
    });
    const barrier = new Barrier(cells, async () => {
      await servers.kill();
      servers.start();
    });
    const problems: string[] = [];
    const run = async (cell: Cell) => {
      const conversation = new Conversation(cell, new KilledWorld(cell, servers, barrier, person));
      let outcome: string;
      try {
        outcome = await conversation.run();
      } catch (error) {
        outcome = String(error);
      }
      // Nothing is asked if there is no door.
      void barrier.arrive(cell);
      const found = `${outcome} in ${conversation.calls} calls`;
      const wanted = `${expected(cell)} in ${callsOf(cell)} calls`;
      if (found !== wanted) problems.push(`${found}, not ${wanted}: ${JSON.stringify(cell)}`);
    };
    try {
      await Promise.all(cells.map(run));
    } finally {
      await servers.end();
    }
    assert.deepEqual(problems, []);
  }, { within: 120_000 });
});
