/** One caller that takes all client sessions, all streams and as many pages as it can open. */
import { call, initialize, ping, SharedServer, times } from "./callers.ts";
import type { Bench, Scenario } from "./kit.ts";

export const scenario: Scenario = { name: "shares", run };

async function run(bench: Bench): Promise<void> {
  await sessions(bench);
  await streams(bench);
  await pages(bench);
}

async function sessions({ runtime, found, problem }: Bench): Promise<void> {
  const server = await SharedServer.start(runtime, "named");
  // This session is idle for longer than all others.
  const third = (await initialize(server, "ann"))!;
  const started = performance.now();
  await times(12_000, 16, async () => void await initialize(server, "mallory"));
  const ms = performance.now() - started;
  const newcomer = await initialize(server, "bob");
  const { clientSessions, heap } = await server.standing();
  const isThere = await ping(server, "ann", third) === 200;
  found(
    `12,000 client sessions by one caller in ${
      (ms / 1_000).toFixed(1)
    } s: ${clientSessions} are kept, ` +
      `live heap ${heap.toFixed(0)} MB; a third party's is ${isThere ? "there" : "gone"}, ` +
      `a newcomer is ${newcomer ? "let in" : "refused"}`,
  );
  if (!isThere || !newcomer) problem("others were starved");
  await server.stop();
}

async function streams({ runtime, found, problem }: Bench): Promise<void> {
  const server = await SharedServer.start(runtime, "named");
  const session = (await initialize(server, "mallory"))!;
  const sessions = [session];
  await times(999, 8, async () => {
    const one = await initialize(server, "mallory");
    if (one) sessions.push(one);
  });
  const held: ReadableStreamDefaultReader<Uint8Array>[] = [];
  let refused = 0;
  // One notification stream for each client session, and one more that is refused.
  await times(sessions.length, 8, async (n) => {
    const response = await listen(server, "mallory", sessions[n]!);
    if (response.status === 200) held.push(response.body!.getReader());
    else {
      refused++;
      await response.text();
    }
  });
  const { status } = await call(server, "waits", {}, { as: "mallory" });
  const other = await call(server, "waits", {}, { as: "ann" });
  const { streams, heap } = await server.standing();
  found(
    `${streams} streams by one caller, ${refused} refused, live heap ${heap.toFixed(0)} MB; ` +
      `its next call gets ${status}, another caller's ${other.status}`,
  );
  if (other.status !== 200) problem("others were starved");
  if (streams >= 1_000 && status !== 503) problem("a caller has more than its share");
  await Promise.all(held.map((reader) => reader.cancel().catch(() => {})));
  await server.stop();
}

async function pages({ runtime, found, problem }: Bench): Promise<void> {
  for (const as of [undefined, "mallory"]) {
    const server = await SharedServer.start(runtime, as ? "named" : "anonymous");
    const before = (await server.standing()).heap;
    let opened = 0;
    const started = performance.now();
    await times(30_000, 16, async () => {
      if (isDone(await call(server, "login", {}, { ...(as && { as }) }))) opened++;
    });
    const ms = performance.now() - started;
    const { heap } = await server.standing();
    const isServed = isDone(await call(server, "login", {}, { as: "ann" }));
    found(
      `30,000 logins by ${as ?? "nobody in particular"} in ${(ms / 1_000).toFixed(1)} s: ` +
        `${opened} pages, ${(heap - before).toFixed(1)} MB more live heap; another caller is ${
          isServed ? "served" : "refused"
        }`,
    );
    if (opened > (as ? 100 : 10_000)) problem(`one caller has ${opened} pages`);
    if (opened === 0) problem("no page was opened");
    // Callers without a name are one caller.
    if (as && !isServed) problem("another caller was refused");
    await server.stop();
  }
}

function isDone({ status, text }: { status: number; text: string }): boolean {
  return status === 200 && !text.includes("isError");
}

function listen(server: SharedServer, as: string, session: string): Promise<Response> {
  return fetch(`${server.url}/mcp`, {
    headers: { accept: "text/event-stream", "mcp-session-id": session, "x-name": as },
  });
}
