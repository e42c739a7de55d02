/**
 * A million calls parked at once in one process, and every one of them answered.
 *
 *     deno task bench million
 */
import { z } from "zod";
import { LiveToolSessionRegistry } from "../src/registry/registry.ts";
import type { LiveToolSession } from "../src/session/tool-session.ts";
import { createMcpTool } from "../src/tool/builder.ts";
import { find } from "./kit/findings.ts";

const SESSIONS = 1_000_000;
/** How many calls are started or answered before other work gets its turn. */
const BATCH = 10_000;

const tool = createMcpTool("one").description("Asks once")
  .elicits({ a: { response: z.object({ n: z.number() }) } })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("a", { message: "Which number?" });
    return answer.action === "accept" ? `picked ${answer.content.n}` : answer.action;
  });

const registry = new LiveToolSessionRegistry({
  limits: { maxSessions: SESSIONS, maxFinishedSessions: 0 },
});
const sessions: (LiveToolSession | undefined)[] = [];
const begun = performance.now();
while (sessions.length < SESSIONS) {
  sessions.push(registry.open(tool, {}));
  if (sessions.length % BATCH === 0) await turn();
}
const parked = performance.now();
if (registry.counts.live !== SESSIONS) throw new Error("Cannot park a million calls");

let right = 0;
for (let n = 0; n < SESSIONS; n++) {
  const session = sessions[n]!;
  sessions[n] = undefined;
  const [request] = session.openRequests();
  session.respond(request!.id, { action: "accept", content: { n } });
  const { outcome } = session;
  if (outcome?.status === "completed" && "content" in outcome.result) {
    const [block] = outcome.result.content;
    if (block?.type === "text" && block.text === `picked ${n}`) right++;
  }
  if (n % BATCH === 0) await turn();
}
const answered = performance.now();
const left = registry.counts.live;
await registry.close();

const rate = (from: number, to: number) => Math.round(SESSIONS / (to - from) * 1_000);
console.log(
  `  ${rate(begun, parked)} parked a second, ${rate(parked, answered)} answered a second`,
);
find("million", "a million parked, answered rightly", right, "", { least: SESSIONS });
find("million-left", "a million parked, left over", left, "", { most: 0 });

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
