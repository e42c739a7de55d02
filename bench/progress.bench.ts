/**
 * A tool that reports progress a hundred times. All messages that are ready are sent in one write,
 * so a stream needs at most three writes: its start, the events, and the end.
 *
 *     deno task bench progress
 */
import { compare, ratio } from "./kit/compare.ts";
import { find, spreadOf } from "./kit/findings.ts";

const of = await compare([
  { server: "parley", era: "legacy", work: "progress" },
  { server: "v1", era: "legacy", work: "progress" },
  { server: "fastmcp", era: "legacy", work: "progress" },
  { server: "parley", era: "modern", work: "progress" },
  { server: "v2", era: "modern", work: "progress" },
], { rounds: 5, ms: 800, users: 16 });

const MAX_WRITES = 3;

for (const era of ["legacy", "modern"] as const) {
  const writes = spreadOf(of(`parley ${era}`).chunks);
  const most = MAX_WRITES;
  find(`progress-${era}-writes`, `100 ${era} events, writes`, writes, "", { most });
}
const legacy = of("parley legacy").cpu;
const v1 = ratio(legacy, of("v1 legacy").cpu);
find("progress-legacy", "100 legacy events, CPU of the v1 SDK's", v1, "×");
const fastmcp = ratio(legacy, of("fastmcp legacy").cpu);
find("progress-fastmcp", "100 legacy events, CPU of fastmcp's", fastmcp, "×");
const v2 = ratio(of("parley modern").cpu, of("v2 modern").cpu);
find("progress-modern", "100 modern events, CPU of the v2 SDK's", v2, "×");
