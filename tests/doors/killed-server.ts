/**
 * The servers of the table, in one process that is killed. A separate program:
 *
 *     killed-server.ts '{"folder": "/tmp/…", "keys": {…}}'
 *
 * It prints the ports of the servers as one line of JSON. After that, each line of its input and
 * output is `{ server, channel, line }`: a line of a stdio channel of one of the servers. A channel
 * opens with its first line.
 */
import { Buffer } from "node:buffer";
import { join } from "node:path";
import process from "node:process";
// Imported one by one, not from `mod.ts`, so that it starts fast.
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { Sealer } from "../../src/lib/sealer.ts";
import { createParley, type Parley } from "../../src/parley.ts";
import { listen } from "../../src/platform/listen.ts";
import type { ParleyOptions } from "../../src/server/options.ts";
import { openSqlite } from "../../src/store/sqlite/stores.ts";
import { toolFor } from "./conversation.ts";
import { type Channel, openChannel } from "./stdio.ts";
import { BY } from "./table.ts";

/** What the process gets as its argument. */
export interface KilledPlan {
  readonly folder: string;
  /** The URL of all HTTP servers, for browsers. */
  readonly publicUrl: string;
  readonly key: string;
  readonly issuer: string;
  /** What the issuer returns, by path. */
  readonly documents: { readonly [path: string]: unknown };
}

const plan: KilledPlan = JSON.parse(process.argv[2]!);

/**
 * Time passes fifty times slower. In these servers, no refusal by a program seems to be made by a
 * person, however busy the machine is.
 */
const SLOWER = 50;
const slowClock: Clock = {
  now: () => Math.floor(Date.now() / SLOWER),
  after: (ms, fire) => systemClock.after(ms * SLOWER, fire),
};

const sealer = new Sealer(plan.key);

function server(name: string, options: ParleyOptions): Parley {
  const stores = openSqlite(join(plan.folder, `${name}.db`), "normal");
  return createParley({
    serve: BY.map((by) => toolFor("killed", by)),
    store: stores.sessions,
    clients: stores.clients,
    sealer,
    askWait: 1_000,
    ...options,
  });
}

const servers: { [name: string]: Parley } = {};
const ports: { [name: string]: number } = {};

for (
  const [pages, doors] of [["pages", {}], ["bare", { doors: ["form", "app", "model"] }]] as const
) {
  for (
    const [speed, time] of [["fast", {}], ["slow", { clock: slowClock, askWait: 20 }]] as const
  ) {
    servers[`stdio-${pages}-${speed}`] = server(`stdio-${pages}-${speed}`, { ...doors, ...time });
    const name = `http-${pages}-${speed}`;
    servers[name] = server(name, { ...doors, ...time, publicUrl: plan.publicUrl });
  }
  const name = `http-${pages}-signed`;
  servers[name] = server(name, {
    ...doors,
    publicUrl: plan.publicUrl,
    auth: {
      issuers: [plan.issuer],
      signIn: { clientId: "parley-pages" },
      fetch: ((url: URL | string) => {
        const document = plan.documents[new URL(url).pathname];
        return Promise.resolve(
          document ? Response.json(document) : new Response("not here", { status: 404 }),
        );
      }) as typeof fetch,
    },
  });
}

for (const [name, { fetch }] of Object.entries(servers)) {
  if (!name.startsWith("http")) continue;
  const { port } = await listen(fetch, { port: 0, hostname: "127.0.0.1" });
  ports[name] = port;
}
process.stdout.write(`${JSON.stringify(ports)}\n`);

const channels = new Map<string, Channel>();
let rest = "";
process.stdin.on("data", (chunk: Buffer) => {
  const lines = (rest + chunk.toString("utf8")).split("\n");
  rest = lines.pop()!;
  for (const text of lines) {
    const { server, channel, line } = JSON.parse(text);
    let open = channels.get(channel);
    if (!open) {
      open = openChannel(servers[server]!, (line) => {
        process.stdout.write(`${JSON.stringify({ channel, line })}\n`);
      });
      channels.set(channel, open);
    }
    open.send(line);
  }
});
