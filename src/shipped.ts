/** The tools that ship with the program. */
import { isDefinition } from "./cli/definitions.ts";
import type { Definition } from "./tool/types.ts";

/** Loads the tools that the program serves by default, if no module is given. */
export async function shipped(): Promise<Definition[]> {
  const modules = await Promise.all([
    import("../tools/bluesky.ts"),
    import("../tools/book_flight.ts"),
    import("../tools/plan_dinner.ts"),
    import("../tools/play_ttt.ts"),
  ]);
  return modules.flatMap((module) => Object.values(module).filter(isDefinition));
}
