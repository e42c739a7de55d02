/**
 * `--audit-log FILE`: writes a JSON line when a call begins, and one when it ends. The lines say
 * who called what, when, and how the call ended. They contain no arguments, answers or results.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import { ensure, type Operation } from "effection";
import { messageOf } from "../../lib/message-of.ts";
import type { Middleware } from "../../run/run-port.ts";
import type { EndedCall } from "../../session/types.ts";
import type { OperatorLog } from "../log.ts";
import { Problem } from "../problem.ts";

export interface AuditLog {
  /** Records that a call begins. */
  readonly middleware: Middleware;
  /** Records that a call has ended. */
  ended(call: EndedCall): void;
}

/** Opens the file until the surrounding scope ends. Appends to an existing file. */
export function* useAuditLog(
  file: string,
  log: OperatorLog,
  now: () => Date = () => new Date(),
): Operation<AuditLog> {
  const handle = opened(file);
  yield* ensure(() => closeSync(handle));
  let isFailing = false;
  const write = (entry: object) => {
    try {
      writeSync(handle, `${JSON.stringify({ time: now().toISOString(), ...entry })}\n`);
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.say("error", "cannot write the audit log", { reason: messageOf(error) });
      isFailing = true;
    }
  };
  return {
    *middleware({ kind, name, sessionId, principal, client, replayed }, next) {
      const { id, client: app } = principal;
      const through = { oauthClient: app, client: client.name };
      const event = replayed ? "resumed" : "called";
      write({ event, principal: id, kind, name, session: sessionId, ...through });
      return yield* next();
    },
    ended({ kind, toolName: name, sessionId, principal, client, outcome, duration }) {
      const status = outcome.status === "completed" && "isError" in outcome.result &&
          outcome.result.isError
        ? "refused"
        : outcome.status;
      const ms = Math.round(duration);
      const about = { principal, kind, name, session: sessionId, client: client.name };
      write({ event: "ended", ...about, outcome: status, ms });
    },
  };
}

function opened(file: string): number {
  try {
    return openSync(file, "a", 0o600);
  } catch (error) {
    throw new Problem(
      `Cannot write the audit log "${file}": ${
        messageOf(error)
      }; check the path and its permissions`,
    );
  }
}
