/** A server for one test: its clock stands still, and all that it sends to legacy clients is checked. */
import type { ParleyOptions } from "parley-mcp";
import { serveWatched, type WatchedServer } from "../server.ts";
import { Watch } from "./watch.ts";

export type TestServer = WatchedServer<Watch>;

export async function serving(
  options: ParleyOptions,
  body: (server: TestServer) => Promise<void>,
): Promise<void> {
  const watch = new Watch();
  await serveWatched(options, watch, body, () => watch.complaints());
}
