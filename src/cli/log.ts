/** The operator's log: one line for each event, on stderr, as text or as JSON. */
import type { Fault } from "../run/run-port.ts";
import { isLegacyVersion } from "../wire/versions.ts";
import type { AccessRefusal } from "../server/access.ts";
import type { AnsweredQuestion, AskedQuestion, EndedCall } from "../session/types.ts";
import { type Style, styleFor } from "./terminal/style.ts";
import { isTerminal, writeError } from "./terminal/terminal.ts";
import { visible, visibleJson } from "./terminal/visible.ts";

export const LOG_LEVELS = ["debug", "info", "warning", "error", "silent"] as const;
export type OperatorLogLevel = typeof LOG_LEVELS[number];

export const LOG_FORMATS = ["text", "json"] as const;
export type LogFormat = typeof LOG_FORMATS[number];

type Fields = { readonly [name: string]: string | number | undefined };

export interface LogOptions {
  readonly level: OperatorLogLevel;
  readonly format: LogFormat;
  /** Writes one line. `isUrgent` is true for warnings and errors. Default: to stderr. */
  readonly write?: (line: string, isUrgent: boolean) => void;
  readonly now?: () => Date;
}

export class OperatorLog {
  readonly #least: number;
  readonly #format: LogFormat;
  readonly #write: (line: string, isUrgent: boolean) => void;
  readonly #now: () => Date;
  readonly #style: Style = styleFor(isTerminal(2));

  constructor(options: LogOptions) {
    this.#least = LOG_LEVELS.indexOf(options.level);
    this.#format = options.format;
    this.#write = options.write ?? writeError;
    this.#now = options.now ?? (() => new Date());
  }

  /** True if messages of this level are logged. */
  has(level: OperatorLogLevel): boolean {
    return LOG_LEVELS.indexOf(level) >= this.#least;
  }

  say(level: Exclude<OperatorLogLevel, "silent">, message: string, fields: Fields = {}): void {
    if (!this.has(level)) return;
    this.#write(
      this.#format === "json"
        ? visibleJson({ time: this.#now().toISOString(), level, message, ...fields })
        : this.#text(level, message, fields),
      level === "warning" || level === "error",
    );
  }

  /** Logs a call that has ended. */
  call(call: EndedCall): void {
    const { kind, toolName, sessionId, client, duration } = call;
    const outcome = outcomeOf(call);
    const { protocolVersion } = client;
    this.say(outcome === "failed" ? "error" : "info", `${kind} ${toolName} ${outcome}`, {
      [kind]: toolName,
      outcome,
      ms: Math.round(duration),
      session: sessionId,
      client: nameOf(client),
      era: eraOf(protocolVersion),
      protocol: protocolVersion,
      ...reasonOf(call),
    });
  }

  /** Logs that a call asks and waits, or that it continues because nobody has answered in time. */
  question(question: AskedQuestion): void {
    const via = question.isTimeout ? "timeout" : undefined;
    this.#asking(question, question.isTimeout ? "continues" : "waits", { via });
  }

  /** Logs that a call continues after an answer. The answer itself is not logged. */
  answer(answer: AnsweredQuestion): void {
    const { via, elapsed } = answer;
    const ms = elapsed === undefined ? undefined : Math.round(elapsed);
    this.#asking(answer, "continues", { via, ms });
  }

  #asking(
    { kind, toolName, sessionId, question, asked, door }: Omit<AskedQuestion, "isTimeout">,
    what: string,
    fields: Fields,
  ): void {
    this.say("info", `${kind} ${toolName} ${what}`, {
      [kind]: toolName,
      question,
      asked: asked === "person" ? undefined : asked,
      door,
      ...fields,
      session: sessionId,
    });
  }

  /**
   * Logs why a request was refused. Anybody can send a wrong token, so the line is a warning only if
   * the issuer cannot be reached.
   */
  refusal({ reason, status, principal, name, isOutage }: AccessRefusal): void {
    const fields = { reason, status, principal, name };
    this.say(isOutage ? "warning" : "debug", "access control refused a request", fields);
  }

  /** Logs an error that the operator should look at. */
  fault({ what, toolName, sessionId, error }: Fault): void {
    const stack = error instanceof Error ? error.stack ?? error.message : String(error);
    this.say("error", what, { tool: toolName, session: sessionId, error: stack });
  }

  #text(level: OperatorLogLevel, message: string, fields: Fields): string {
    // Use UTC, because looking up the local time zone takes five milliseconds at start-up.
    const time = this.#style.dim(`${this.#now().toISOString().slice(11, 19)}Z`);
    const { error, ...short } = fields;
    const shown = Object.entries(short)
      .filter(([name, value]) => value !== undefined && !isSaid(name, message))
      .map(([name, value]) => this.#style.dim(`${name}=`) + quoted(value!));
    const line = [time, this.#level(level), plain(message), ...shown].join(" ");
    return error === undefined ? line : `${line}\n${indented(String(error))}`;
  }

  #level(level: OperatorLogLevel): string {
    const word = level.padEnd(7);
    if (level === "error") return this.#style.red(word);
    return level === "warning" ? this.#style.yellow(word) : word;
  }
}

/** True if the message already contains the value of this field. */
function isSaid(name: string, message: string): boolean {
  return name === "outcome" || message.startsWith(`${name} `);
}

function outcomeOf({ outcome }: EndedCall): string {
  if (outcome.status !== "completed") return outcome.status;
  return "isError" in outcome.result && outcome.result.isError ? "refused" : "completed";
}

function reasonOf({ outcome }: EndedCall): Fields {
  switch (outcome.status) {
    case "cancelled":
      return { reason: outcome.reason };
    case "failed":
      return { reason: outcome.error.message };
    default:
      return {};
  }
}

function nameOf({ name, version }: EndedCall["client"]): string | undefined {
  return name === undefined || version === undefined ? name : `${name} ${version}`;
}

function eraOf(version: string | undefined): string | undefined {
  if (version === undefined) return undefined;
  return isLegacyVersion(version) ? "legacy" : "modern";
}

// deno-lint-ignore no-control-regex
const CONTROL = /[\x00-\x1f\x7f-\x9f]/g;

/** Escapes control characters: text from clients must not forge log lines or control the terminal. */
function plain(text: string): string {
  return visible(text.replace(CONTROL, " "));
}

function quoted(value: string | number): string {
  const text = plain(String(value));
  return /[\s"=]/.test(text) ? JSON.stringify(text) : text;
}

function indented(text: string): string {
  return text.split("\n").map((line) => `    ${plain(line)}`).join("\n");
}

/**
 * The options of a server that log questions and answers. `answered` gets the answers too. If the
 * log writes no such lines, the server does no work for them.
 */
export function logQuestions(
  log: OperatorLog,
  answered?: (answer: AnsweredQuestion) => void,
): {
  onQuestion?: (question: AskedQuestion) => void;
  onAnswer?: (answer: AnsweredQuestion) => void;
} {
  if (!log.has("info")) return answered ? { onAnswer: answered } : {};
  return {
    onQuestion: (question) => log.question(question),
    onAnswer(answer) {
      log.answer(answer);
      answered?.(answer);
    },
  };
}
