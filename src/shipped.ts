/** The tools and skills that ship with the program. */
import { isDefinition } from "./cli/definitions.ts";
import type { ShippedSkill } from "./shipped-skills.ts";
import type { Served } from "./tool/skill.ts";

/** Loads the tools and skills that the program serves by default, if no module is given. */
export async function shipped(): Promise<Served[]> {
  const { SHIPPED_SKILLS } = await import("./shipped-skills.ts");
  // Loads the schema libraries, which most commands do not need.
  const { checkedSkill } = await import("./tool/skill.ts");
  const modules = await Promise.all([
    import("../tools/bluesky.ts"),
    import("../tools/book_flight.ts"),
    import("../tools/plan_dinner.ts"),
    import("../tools/play_ttt.ts"),
  ]);
  const tools = modules.flatMap((module) => Object.values(module).filter(isDefinition));
  return [...tools, ...SHIPPED_SKILLS.map((skill) => checkedSkill(contentOf(skill)))];
}

function contentOf({ path, frontmatter, files }: ShippedSkill) {
  const bytes = Object.entries(files).map(([file, text]) =>
    [file, new TextEncoder().encode(text)] as const
  );
  return { path, frontmatter, files: new Map(bytes) };
}
