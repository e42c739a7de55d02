/**
 * One elicitation round trip: the call, the question, the answer and the result. In the legacy era,
 * the question is sent on the call's stream; in the modern era, the client retries with the answer.
 *
 * fastmcp is not included, because it does not send the question on the call's stream.
 *
 *     deno task bench elicit
 */
import { compare, ratio } from "./kit/compare.ts";
import { find } from "./kit/findings.ts";

const of = await compare([
  { server: "parley", era: "legacy", work: "elicit" },
  { server: "v1", era: "legacy", work: "elicit" },
  { server: "parley", era: "modern", work: "elicit" },
  { server: "v2", era: "modern", work: "elicit" },
]);

const aim = { most: 0.25 };
const legacy = ratio(of("parley legacy").cpu, of("v1 legacy").cpu);
find("elicit-legacy", "legacy round trip, CPU of the v1 SDK's", legacy, "×", aim);
const modern = ratio(of("parley modern").cpu, of("v2 modern").cpu);
find("elicit-modern", "modern round trip, CPU of the v2 SDK's", modern, "×", aim);
