/** The builder as code without types sees it. */
import { createMcpTool, type FinalizedMcpTool } from "../../src/mod.ts";

export interface Loose {
  description(text?: unknown): Loose;
  title(text: unknown): Loose;
  parameters(schema: unknown): Loose;
  output(schema: unknown): Loose;
  elicits(questions: unknown): Loose;
  limits(limits: unknown): Loose;
  execute(body?: unknown): FinalizedMcpTool;
  handoff(phases?: unknown): FinalizedMcpTool;
}

/** A builder that accepts anything. */
export function loosely(name: unknown): Loose {
  return createMcpTool(name as string) as unknown as Loose;
}
