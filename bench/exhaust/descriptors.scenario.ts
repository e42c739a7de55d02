/** More connections than a process may have descriptors: silent ones, then unfinished ones. */
import { descriptorsOf, UNFINISHED } from "../../tests/support/crowd.ts";
import { type Bench, Crowds, pause, type Scenario, ServerUnderLoad } from "./kit.ts";

const LIMIT = 20_000;
const CONNECTIONS = 20_400;
/** So many that none is closed yet. */
const FEW = 5_000;

export const scenario: Scenario = { name: "file descriptors", run };

async function run(bench: Bench): Promise<void> {
  for (const [kind, says] of [["silent", ""], ["unfinished", UNFINISHED]] as const) {
    const server = await ServerUnderLoad.start(bench.runtime, { descriptors: LIMIT });
    const before = server.memory;
    const few = await Crowds.open(server.port, FEW, says);
    await pause(1_000);
    const held = descriptorsOf(server.child.pid!);
    const each = (server.memory - before) / held * 1_024;
    bench.found(`${kind}: ${held} descriptors, ${each.toFixed(1)} KB for each connection`);
    const rest = await Crowds.open(server.port, CONNECTIONS - FEW, says);
    await pause(1_000);
    const peak = server.memory;
    few.leave();
    rest.leave();
    const ms = await server.answersWithin(30_000);
    bench.found(
      `${kind}: ${peak.toFixed(0)} MB at the limit, answers ${ms?.toFixed(0)} ms after they left`,
    );
    if (ms === undefined) bench.problem(`${kind}: it does not answer after every client has left`);
    if (server.exited) bench.problem(`${kind}: it has ended`);
    server.stop();
  }
}
