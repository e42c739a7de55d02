import assert from "node:assert/strict";
import { createParley } from "parley-mcp";
import { describe, it } from "../suite.ts";

/** The status of a request with this `Host` header, from a peer at this address. */
async function status(
  host: string,
  peer: string | undefined,
  options: Parameters<typeof createParley>[0] = {},
  headers = {},
): Promise<number> {
  const parley = createParley(options);
  const request = new Request(`http://${host}/mcp`, {
    method: "OPTIONS",
    headers: { host, ...headers },
  });
  const connections = [
    peer === undefined ? undefined : { remoteAddr: { hostname: peer } },
    peer === undefined ? {} : { requestIP: () => ({ address: peer }) },
  ];
  const statuses: number[] = [];
  for (const connection of connections) {
    statuses.push((await parley.fetch(request, connection)).status);
  }
  await parley.close();
  assert.equal(statuses[0], statuses[1], "as Deno and as Bun tell it");
  return statuses[0]!;
}

describe("a loopback host name", () => {
  it("passes from a peer on this machine only", async () => {
    for (const host of ["localhost:7411", "127.0.0.1:7411", "[::1]:7411", "LOCALHOST"]) {
      for (const peer of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "127.8.8.8"]) {
        assert.equal(await status(host, peer), 204, `${host} from ${peer}`);
      }
      for (const peer of ["192.0.2.7", "10.0.0.1", "2001:db8::7", "::ffff:192.0.2.7"]) {
        assert.equal(await status(host, peer), 403, `${host} from ${peer}`);
      }
    }
  });

  it("passes from everywhere if the operator allows it, or if nobody knows the peer", async () => {
    assert.equal(await status("localhost", "192.0.2.7", { allowHosts: ["localhost"] }), 204);
    assert.equal(await status("localhost", undefined), 204);
  });

  it("passes through a trusted proxy on another machine", async () => {
    const options = { trustProxy: ["192.0.2.7"], allowHosts: ["example.com"] };
    const headers = { "x-forwarded-for": "198.51.100.1", "x-forwarded-host": "example.com" };
    assert.equal(await status("localhost", "192.0.2.7", options, headers), 204);
    assert.equal(await status("localhost", "192.0.2.8", options, headers), 403);
  });

  it("does not matter for other names, which the operator has allowed", async () => {
    assert.equal(await status("example.com", "192.0.2.7", { allowHosts: ["example.com"] }), 204);
    assert.equal(await status("example.com", "192.0.2.7"), 403);
  });
});
