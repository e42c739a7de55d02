/** A server for one test: its clock stands still, and all that it sends to modern clients is checked. */
import type { ParleyOptions } from "parley-mcp";
import { serveWatched, type WatchedServer } from "../server.ts";
import { ModernWatch } from "./watch.ts";

export type ModernServer = WatchedServer<ModernWatch>;

export async function servingModern(
  options: ParleyOptions,
  body: (server: ModernServer) => Promise<void>,
): Promise<void> {
  // Leave the Effection step that the test runs in: platforms call a server from outside of one.
  await Promise.resolve();
  const watch = new ModernWatch();
  await serveWatched(options, watch, body, () => Promise.resolve(watch.complaints));
}
