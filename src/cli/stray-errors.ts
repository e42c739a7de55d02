/** Errors that tools throw where no call can catch them: in a timer, or in an unawaited promise. */
import { type Operation, resource } from "effection";
import process from "node:process";
import type { OperatorLog } from "./log.ts";

/** Logs uncaught errors for as long as the scope lives, instead of letting them end the process. */
export function useStrayErrors(log: OperatorLog): Operation<void> {
  return resource(function* (provide) {
    const report = (error: unknown) =>
      log.fault({
        what: "uncaught error outside of a call, such as in a timer",
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
