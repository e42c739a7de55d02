/** Ports of this machine on which nobody listens. */
import { type AddressInfo, createServer } from "node:net";

export async function isFree(port: number): Promise<boolean> {
  return await tried(port) !== undefined;
}

/** A port that was free a moment ago, for a program that cannot choose one itself. */
export async function freePort(): Promise<number> {
  return (await tried(0))!;
}

function tried(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => {
      const found = (server.address() as AddressInfo).port;
      server.close(() => resolve(found));
    });
  });
}
