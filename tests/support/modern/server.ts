/** A server for one test: its clock stands still, and all that it sends to modern clients is checked. */
import type { ParleyOptions } from "parley-mcp";
import { serveWatched, type WatchedServer } from "../server.ts";
import { Watch } from "./watch.ts";

export type TestServer = WatchedServer<Watch>;

export async function serving(
  options: ParleyOptions,
  body: (server: TestServer) => Promise<void>,
): Promise<void> {
  // Leave the Effection step that the test runs in: platforms call a server from outside of one.
  await Promise.resolve();
  const watch = new Watch();
  await serveWatched(options, watch, body, () => Promise.resolve(watch.complaints));
}
