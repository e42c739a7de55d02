/**
 * Sees to it that a run that is run again comes to all that it did before. One that
 * leaves a question out, while others wait for it, would otherwise stand for ever.
 */
import type { Deadline, Deadlines } from "../lib/deadlines.ts";
import type { Divergence, Replay } from "./replay.ts";

/** How long a tool may be busy with something that is not on record, before it is given up. */
const PATIENCE = 5 * 60_000;

/** Calls `stuck` once nothing on record has been come to for long. Returns how to stop that. */
export function watchReplay(
  replay: Replay,
  deadlines: Deadlines,
  stuck: (divergence: Divergence) => void,
): () => void {
  let deadline: Deadline | undefined;
  const watch = () => {
    if (replay.done) return;
    const before = replay.progress;
    deadline = deadlines.add(PATIENCE, () => {
      if (replay.progress !== before) return watch();
      if (!replay.done) stuck({ recorded: replay.missing, asked: undefined, stalled: true });
    });
  };
  watch();
  return () => deadline?.cancel();
}
