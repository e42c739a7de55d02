/** The tools that ship with the program. */
import { isDefinition } from "./cli/definitions.ts";
import type { Definition } from "./tool/types.ts";

/** What is served where no module is named. */
export async function shipped(): Promise<Definition[]> {
  const modules = await Promise.all([
    import("../tools/bluesky.ts"),
    import("../tools/book_flight.ts"),
    import("../tools/plan_dinner.ts"),
    import("../tools/play_ttt.ts"),
  ]);
  return modules.flatMap((module) => Object.values(module).filter(isDefinition));
}
