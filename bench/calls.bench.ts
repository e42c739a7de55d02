/**
 * `tools/call` of a small tool, in both eras, compared with a minimal server and with current
 * alternatives. On two cores, the driver soon becomes the bottleneck, so throughput is measured in
 * calls per second of the server's CPU time.
 *
 *     deno task bench calls
 */
import { currentRuntime } from "../tests/harness/toolchain.ts";
import { compare, ratio, type Subject } from "./kit/compare.ts";
import { find } from "./kit/findings.ts";
import type { Era } from "./kit/flows.ts";
import { instructionsPerCall } from "./kit/instructions.ts";

const call = (server: Subject["server"], era: Era): Subject => ({ server, era, work: "call" });

const of = await compare([
  call("bare", "legacy"),
  call("parley", "legacy"),
  call("bare", "modern"),
  call("parley", "modern"),
  call("v2", "modern"),
  call("v1", "legacy"),
  call("fastmcp", "legacy"),
]);

const LEAST_V2 = { deno: 10, bun: 6 };

for (const era of ["legacy", "modern"] as const) {
  const [parley, bare] = [of(`parley ${era}`), of(`bare ${era}`)];
  const share = ratio(bare.cpu, parley.cpu);
  find(`call-${era}`, `${era} call, share of the bare runtime's`, share, "×", { least: 0.5 });
  const least = LEAST_V2[currentRuntime()];
  const times = ratio(of("v2 modern").cpu, parley.cpu);
  find(`call-${era}-v2`, `${era} call, times the v2 SDK's`, times, "×", { least });
  const slowest = ratio(parley.p99, bare.p99);
  find(`call-${era}-p99`, `${era} call, p99 of the bare runtime's`, slowest, "×", { most: 3 });
}
const legacy = of("parley legacy").cpu;
find("call-v1", "legacy call, times the v1 SDK's", ratio(of("v1 legacy").cpu, legacy), "×");
find("call-fastmcp", "legacy call, times fastmcp's", ratio(of("fastmcp legacy").cpu, legacy), "×");
await instructionsPerCall();
