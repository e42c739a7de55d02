/** What tools throw where nobody can catch it: in a timer, or in a promise that nobody awaits. */
import { type Operation, resource } from "effection";
import process from "node:process";
import type { OperatorLog } from "./log.ts";

/** While this lives, such an error is logged, and ends nobody else's call. */
export function useStrayErrors(log: OperatorLog): Operation<void> {
  return resource(function* (provide) {
    const report = (error: unknown) =>
      log.fault({
        what: "an error that no call could catch",
        toolName: "-",
        sessionId: "-",
        error,
      });
    process.on("uncaughtException", report);
    process.on("unhandledRejection", report);
    try {
      yield* provide();
    } finally {
      process.off("uncaughtException", report);
      process.off("unhandledRejection", report);
    }
  });
}
