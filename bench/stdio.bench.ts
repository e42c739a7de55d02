/**
 * Calls over stdio, one after another and many at once, compared with a minimal program that only
 * parses and answers lines, and with other SDKs.
 *
 *     deno task bench stdio
 */
import { ratio } from "./kit/compare.ts";
import { find, spreadOf } from "./kit/findings.ts";
import { installPeers, serverCommand, type ServerName } from "./kit/processes.ts";
import { StdioServer } from "./kit/stdio.ts";

const NAMES: readonly ServerName[] = ["bare", "parley", "v2", "v1", "fastmcp"];
const ROUNDS = 5;
const WARM_UP = 4_000;
const CALLS = 15_000;
installPeers();
const servers = NAMES.map((name) => ({
  name,
  server: new StdioServer(serverCommand(name, undefined, true)),
  cpu: [] as number[],
}));
for (const { name, server } of servers) {
  if (name !== "bare") await server.initialize();
  await server.calls(WARM_UP);
}
for (let round = 0; round < ROUNDS; round++) {
  for (let i = 0; i < servers.length; i++) {
    const { server, cpu } = servers[(i + round) % servers.length]!;
    cpu.push(await server.calls(CALLS));
  }
}
for (const { name, server, cpu } of servers) {
  server.stop();
  console.log(`  ${name.padEnd(16)} ${spreadOf(cpu).value.toFixed(1)} µs of CPU a call`);
}
const [bare, parley, v2, v1, fastmcp] = servers.map(({ cpu }) => cpu);
find("stdio", "stdio call, share of the bare runtime's", ratio(bare!, parley!), "×");
find("stdio-v2", "stdio call, times the v2 SDK's", ratio(v2!, parley!), "×");
find("stdio-v1", "stdio call, times the v1 SDK's", ratio(v1!, parley!), "×");
find("stdio-fastmcp", "stdio call, times fastmcp's", ratio(fastmcp!, parley!), "×");
