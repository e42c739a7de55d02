/** Adapts the messages of errors to the client. */
import type { Operation } from "effection";
import { ToolError } from "parley-mcp";
import { spoken } from "./password-texts.ts";

export function* speaking<T>(
  client: { readonly name?: string | undefined },
  body: () => Operation<T>,
): Operation<T> {
  try {
    return yield* body();
  } catch (error) {
    throw error instanceof ToolError ? new ToolError(spoken(error.message, client)) : error;
  }
}
