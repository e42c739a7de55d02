/**
 * The cost of a call and a round trip while a hundred thousand others are parked,
 * compared with a server without parked calls.
 *
 *     deno task bench crowded
 */
import { compare, ratio } from "./kit/compare.ts";
import { find } from "./kit/findings.ts";

const of = await compare([
  { server: "parley", era: "legacy", work: "call" },
  { server: "parley-crowded", era: "legacy", work: "call" },
  { server: "parley", era: "modern", work: "elicit" },
  { server: "parley-crowded", era: "modern", work: "elicit" },
]);

const aim = { least: 0.9 };
const call = ratio(of("parley legacy").cpu, of("parley-crowded legacy").cpu);
find("crowded-call", "calls with 100 000 parked, of those with none", call, "×", aim);
const elicit = ratio(of("parley modern").cpu, of("parley-crowded modern").cpu);
find("crowded-elicit", "round trips with 100 000 parked, of those with none", elicit, "×", aim);
