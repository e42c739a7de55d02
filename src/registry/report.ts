/** How the operator hears of what went wrong. */
import type { Fault } from "../run/run-port.ts";

/** Reports in the way that is given, or prints; never throws. */
export function reporter(report: (fault: Fault) => void = printFault): (fault: Fault) => void {
  return (fault) => {
    try {
      report(fault);
    } catch (error) {
      printFault({ ...fault, what: "its fault could not be reported", error });
    }
  };
}

function printFault({ what, toolName, sessionId, error }: Fault): void {
  console.error(`tool "${toolName}", session ${sessionId}: ${what}:`, error);
}
