/**
 * `--audit-log FILE`: writes a JSON line when a call begins, when one of its questions is answered,
 * when it ends, and when access control refuses a request.
 *
 * AUDIT-1  A line has no arguments, answers or results, unless `--audit-data` asks for arguments and
 *          answers. Values of sensitive fields are never written.
 * AUDIT-2  A line has a limited length, and so has the number of refusals in a minute: anybody can
 *          cause them.
 * AUDIT-3  If a line cannot be written, the server continues, the operator is told once, and the
 *          next line that can be written says how many are missing.
 */
import { Buffer } from "node:buffer";
import { closeSync, openSync, writeSync } from "node:fs";
import { ensure, type Operation } from "effection";
import { messageOf } from "../../lib/message-of.ts";
import type { Middleware } from "../../run/run-port.ts";
import type { AccessRefusal } from "../../server/access.ts";
import type { AnsweredQuestion, EndedCall } from "../../session/types.ts";
import type { OperatorLog } from "../log.ts";
import { Problem } from "../problem.ts";

/** The longest line, in bytes. */
const MAX_LINE = 16_384;
/** Longer texts are cut. */
const MAX_TEXT = 2_000;
const MAX_REFUSALS_PER_MINUTE = 120;

/** Names of arguments whose values are secret. The fields of forms are declared by their authors. */
const SECRET = /pass(word|phrase|code|wd)?$|secret|token|credential|(api|private|access)_?key$/i;
const MASKED = "***";

export interface AuditLog {
  /** Records that a call begins. */
  readonly middleware: Middleware;
  answered(answer: AnsweredQuestion): void;
  refused(refusal: AccessRefusal): void;
  /** Records that a call has ended. */
  ended(call: EndedCall): void;
}

export interface AuditOptions {
  /** Whether arguments and answers are written too. Default: false. */
  readonly hasData?: boolean;
  readonly now?: () => Date;
  /** Writes a text to the file. Returns how many bytes were written. */
  readonly write?: (handle: number, text: Buffer) => number;
}

/** Opens the file until the surrounding scope ends. Appends to an existing file. */
export function* useAuditLog(
  file: string,
  log: OperatorLog,
  { hasData = false, now = () => new Date(), write = writeSync }: AuditOptions = {},
): Operation<AuditLog> {
  const handle = opened(file);
  yield* ensure(() => closeSync(handle));
  const lines = new Lines(log, now, (text) => write(handle, text));
  const refusals = new RefusalLimit();
  return {
    *middleware(call, next) {
      const { kind, name, sessionId, principal, client, replayed } = call;
      lines.write({
        event: replayed ? "resumed" : "called",
        principal: principal.id,
        kind,
        name,
        session: sessionId,
        oauthClient: principal.client,
        client: client.name,
        ...(hasData && { arguments: shown(call.arguments) }),
      });
      return yield* next();
    },
    answered({ kind, toolName: name, sessionId, principal, client, response, ...answer }) {
      const { question, asked, via, by } = answer;
      const action = "action" in response
        ? response.action
        : "error" in response
        ? "failed"
        : undefined;
      const about = { principal, kind, name, session: sessionId, client: client.name };
      // The caller did not answer if an operator did, or if the server's own model did.
      const isOther = via === "operator" || via === "server";
      const how = { question, asked, via, by: by ?? (isOther ? undefined : principal), action };
      lines.write({
        event: "answered",
        ...about,
        ...how,
        ...(hasData && { answer: shown(response) }),
      });
    },
    refused({ status, reason, principal, name }) {
      const omitted = refusals.take(now().getTime());
      if (omitted === undefined) return;
      lines.write({ event: "refused", principal, status, reason, name, ...omitted });
    },
    ended({ kind, toolName: name, sessionId, principal, client, outcome, duration }) {
      const status = outcome.status === "completed" && "isError" in outcome.result &&
          outcome.result.isError
        ? "refused"
        : outcome.status;
      const ms = Math.round(duration);
      const about = { principal, kind, name, session: sessionId, client: client.name };
      lines.write({ event: "ended", ...about, outcome: status, ms });
    },
  };
}

/** Writes lines to a file, and remembers those that could not be written (AUDIT-3). */
class Lines {
  readonly #log: OperatorLog;
  readonly #now: () => Date;
  readonly #append: (text: Buffer) => number;
  #lost = 0;
  /** True if the last line was written only in part. */
  #isTorn = false;

  constructor(log: OperatorLog, now: () => Date, append: (text: Buffer) => number) {
    this.#log = log;
    this.#now = now;
    this.#append = append;
  }

  write(entry: object): void {
    const lost = this.#lost;
    const all = { time: this.#now().toISOString(), ...entry, ...(lost > 0 && { lost }) };
    let problem = "the disk is full";
    try {
      const line = Buffer.from(`${this.#isTorn ? "\n" : ""}${lineOf(all)}\n`);
      const written = this.#append(line);
      if (written === line.length) {
        this.#lost = 0;
        this.#isTorn = false;
        return;
      }
      this.#isTorn ||= written > 0;
    } catch (error) {
      problem = messageOf(error);
    }
    if (this.#lost++ > 0) return;
    this.#log.say("error", "cannot write the audit log", { reason: problem });
  }
}

/** The JSON text of an entry, within the limit (AUDIT-2). */
function lineOf(entry: object): string {
  const text = JSON.stringify(cut(entry));
  if (Buffer.byteLength(text) <= MAX_LINE) return text;
  const { arguments: _arguments, answer: _answer, ...rest } = cut(entry) as {
    [name: string]: unknown;
  };
  return JSON.stringify({ ...rest, omitted: "the data is too long" });
}

/** A copy in which texts are cut. */
function cut(value: unknown): unknown {
  if (typeof value === "string") {
    return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value;
  }
  if (Array.isArray(value)) return value.map(cut);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cut(inner)]));
}

/** Data for a line. The values of secrets are masked, by their names (AUDIT-1). */
function shown(value: unknown): unknown {
  try {
    return masked(JSON.parse(JSON.stringify(value) ?? "null"));
  } catch {
    return "not JSON";
  }
}

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map((
      [name, inner],
    ) => [name, SECRET.test(name) ? MASKED : masked(inner)]),
  );
}

/** Counts refusals, and limits how many are written in a minute (AUDIT-2). */
class RefusalLimit {
  #since = -Infinity;
  #written = 0;
  #omitted = 0;

  /** Fields to add to the line. Undefined if the refusal must not be written. */
  take(now: number): { readonly omitted?: number } | undefined {
    if (now - this.#since >= 60_000 || now < this.#since) {
      this.#since = now;
      this.#written = 0;
    }
    if (this.#written >= MAX_REFUSALS_PER_MINUTE) {
      this.#omitted++;
      return undefined;
    }
    this.#written++;
    const omitted = this.#omitted;
    this.#omitted = 0;
    return omitted > 0 ? { omitted } : {};
  }
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
