import { describe, it } from "../suite.ts";
import { everyPoint, whileTakingOver } from "./every-point.ts";

/** A guard against hanging; the test takes a fraction of that. */
const within = 300_000;

describe("a server that is killed at every point in turn, and started again", () => {
  for (const era of ["modern", "legacy"] as const) {
    it(
      `${era} era: a tool that asks and does a lot continues as if nothing had happened`,
      () => everyPoint({ era, tool: "order" }, 100),
      { within },
    );
    it(
      `${era} era: a tool in phases continues as if nothing had happened`,
      () => everyPoint({ era, tool: "lease" }, 55),
      { within },
    );
    it(
      `${era} era: a call continues even if the next server dies while it takes over`,
      () => whileTakingOver({ era, tool: "order" }),
      { within },
    );
  }
  it(
    "modern era: a task continues as if nothing had happened",
    () => everyPoint({ era: "modern", tool: "lease_as_task" }, 55),
    { within },
  );
});
