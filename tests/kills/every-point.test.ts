import { describe, it } from "../suite.ts";
import { everyPoint } from "./every-point.ts";

const within = 300_000;

describe("a server that is killed at every point in turn, and started again", () => {
  it(
    "modern, a tool that asks and does a lot",
    () => everyPoint({ era: "modern", tool: "order" }, 100),
    { within },
  );
  it("modern, a tool in phases", () => everyPoint({ era: "modern", tool: "lease" }, 60), {
    within,
  });
  it("modern, a task in phases", () => everyPoint({ era: "modern", tool: "lease_as_task" }, 60), {
    within,
  });
});
