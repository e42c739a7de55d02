/** Asks the client for its roots. */
import type { Operation } from "effection";
import { CapabilityError, ToolError } from "../model/errors.ts";
import type { Root, RootsResponse } from "../model/events.ts";
import { type Asker, isFailure } from "./ask.ts";

export function* listRoots(asker: Asker): Operation<readonly Root[]> {
  if (!asker.client.capabilities.roots) {
    throw new CapabilityError(
      "roots",
      asker.client.name,
      "use a client that supports it, or pass the paths as arguments",
    );
  }
  const reply = yield* asker.ask({ kind: "roots", key: "roots" });
  if (reply.type === "timeout") return [];
  if (isFailure(reply.response)) {
    throw new ToolError(
      `Cannot list the client's roots: the client failed: ${reply.response.error.message}; try again`,
    );
  }
  const { roots } = (reply.response ?? {}) as Partial<RootsResponse>;
  if (!Array.isArray(roots)) {
    throw new ToolError(
      "Cannot list the client's roots: its answer contains no list of roots; check the client",
    );
  }
  return roots;
}
