/** Asks the person at the terminal, one question at a time. */
import process from "node:process";
import { pathToFileURL } from "node:url";
import { ensure, type Operation, scoped, until, useAbortSignal, withResolvers } from "effection";
import type { Person, Progress, Question } from "../../client/person.ts";
import { messageOf } from "../../lib/message-of.ts";
import { type McpMessage, textOf } from "../../model/content.ts";
import type { ClientAnswer, LogLevel, SampleParams } from "../../model/events.ts";
import { INTERNAL_ERROR } from "../../model/rpc-codes.ts";
import type { SamplingProvider } from "../../sampling/provider.ts";
import { isAtLeast } from "../../wire/log-level.ts";
import { Problem } from "../problem.ts";
import { fieldsOf, typeOf } from "./fields.ts";
import { ProgressBar } from "./progress.ts";
import type { Terminal } from "./terminal.ts";
import { visible, visibleJson, visibleNote } from "./visible.ts";

export class AtTerminal implements Person {
  readonly #terminal: Terminal;
  readonly #provider: SamplingProvider | undefined;
  readonly #bar: ProgressBar;
  /** Ends when the last question in the queue has been answered. */
  #asked: Operation<void> = withResolved();
  #busy = false;
  #hasSaidNoModel = false;
  /** The conversation with the model that the person has seen. */
  #seen: readonly McpMessage[] = [];
  #seenSystemPrompt: string | undefined;
  #held: string[] = [];

  constructor(terminal: Terminal, provider: SamplingProvider | undefined) {
    this.#terminal = terminal;
    this.#provider = provider;
    this.#bar = new ProgressBar(terminal);
  }

  *answer(question: Question): Operation<ClientAnswer> {
    if (question.type === "roots") return { roots: [here()] };
    if (question.type === "sample" && this.#provider) {
      return yield* this.#askModel(this.#provider, question.params);
    }
    if (!this.#terminal.interactive) throw this.#nobody(question);
    const shown = question.type === "sample" ? this.#insteadOfModel(question) : question;
    return yield* this.#alone(() => ask(shown));
  }

  progress(progress: Progress): void {
    if (!this.#busy) this.#bar.show(progress);
  }

  log(level: LogLevel, data: unknown): void {
    const { err } = this.#terminal;
    const text = typeof data === "string" ? visibleNote(data) : visibleJson(data ?? null);
    const line = `${err.dim(`${visible(level)}:`)} ${text}`;
    if (this.#busy) this.#held.push(line);
    else this.#say(isAtLeast(level, "error") ? err.red(line) : line);
  }

  /**
   * Prints a line for `--trace`. Control characters in text from outside must already be escaped.
   */
  trace(line: string): void {
    if (this.#busy) this.#held.push(line);
    else this.#say(line);
  }

  done(): void {
    this.#bar.end();
  }

  /**
   * Leaves out the messages that the person has seen. Says once that the person answers for the
   * model.
   */
  #insteadOfModel(question: Question & { type: "sample" }): Question & { type: "sample" } {
    if (!this.#hasSaidNoModel) {
      this.#hasSaidNoModel = true;
      this.log("notice", "no model is set, so you answer for it; PARLEY_MODEL sets one");
    }
    const { systemPrompt, ...params } = question.params;
    const messages = newMessages(this.#seen, params.messages);
    const isNew = systemPrompt !== this.#seenSystemPrompt;
    this.#seen = params.messages;
    this.#seenSystemPrompt = systemPrompt;
    return {
      ...question,
      params: { ...params, messages, ...(isNew && systemPrompt !== undefined && { systemPrompt }) },
    };
  }

  #say(line: string): void {
    this.#bar.clear();
    this.#terminal.note(line);
    this.#bar.restore();
  }

  *#askModel(provider: SamplingProvider, params: SampleParams): Operation<ClientAnswer> {
    const { dim } = this.#terminal.err;
    const asked = params.messages.at(-1);
    const signal = yield* useAbortSignal();
    this.#say(dim(`asking ${provider.name}: ${asked ? shortened(visible(textOf(asked))) : ""}`));
    try {
      return yield* until(provider.sample(params, signal));
    } catch (error) {
      return { error: { code: INTERNAL_ERROR, message: messageOf(error) } };
    }
  }

  /** Waits for earlier questions, then asks. Holds back progress and log lines until the answer. */
  #alone<T>(ask: () => Operation<T>): Operation<T> {
    const before = this.#asked;
    const turn = withResolvers<void>();
    this.#asked = turn.operation;
    const person = this;
    return scoped(function* () {
      yield* ensure(() => {
        person.#busy = false;
        for (const line of person.#held.splice(0)) person.#say(line);
        person.#bar.restore();
        turn.resolve();
      });
      yield* before;
      person.#busy = true;
      person.#bar.clear();
      yield* until(person.#terminal.flush());
      return yield* ask();
    });
  }

  #nobody(question: Question): Problem {
    this.#bar.clear();
    this.#terminal.note(describeQuestion(question));
    const wayOut = question.type === "sample"
      ? "set PARLEY_MODEL to a model that can answer, or run this in a terminal"
      : "run this in a terminal, or pass what the tool needs in its arguments";
    return new Problem(`Cannot ask you: stdin or stderr is not a terminal; ${wayOut}`);
  }
}

/**
 * The messages of a conversation after those that were shown before; at least the last one. In a
 * conversation that continues, also leaves out the answers of the model: the person gave them in
 * its place.
 */
export function newMessages(
  seen: readonly McpMessage[],
  messages: readonly McpMessage[],
): McpMessage[] {
  const isSeen = (i: number) => JSON.stringify(seen[i]) === JSON.stringify(messages[i]);
  let known = 0;
  while (known < Math.min(seen.length, messages.length - 1) && isSeen(known)) known++;
  const lastSaid = messages.findLastIndex(({ role }) => role === "assistant");
  return messages.slice(
    known > 0 && lastSaid < messages.length - 1 ? Math.max(known, lastSaid + 1) : known,
  );
}

function* ask(question: Question): Operation<ClientAnswer> {
  switch (question.type) {
    case "form": {
      const { askForm } = yield* until(import("./prompts/form.ts"));
      return yield* askForm(question.params, question.sensitive);
    }
    case "page": {
      const { askPage } = yield* until(import("./prompts/form.ts"));
      return yield* askPage(question.params);
    }
    case "sample": {
      const { askInsteadOfModel } = yield* until(import("./prompts/sample.ts"));
      return yield* askInsteadOfModel(question.params);
    }
    case "roots":
      return { roots: [here()] };
  }
}

function here(): { uri: string; name: string } {
  return { uri: pathToFileURL(process.cwd()).href, name: "working directory" };
}

function withResolved(): Operation<void> {
  const { operation, resolve } = withResolvers<void>();
  resolve();
  return operation;
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}

export function describeQuestion(question: Question): string {
  return visible(asText(question));
}

function asText(question: Question): string {
  switch (question.type) {
    case "form": {
      const { message, requestedSchema } = question.params;
      const fields = fieldsOf(requestedSchema).map(({ name, schema, required }) =>
        `  ${name}: ${typeOf(schema)}${required ? "" : " (optional)"}`
      );
      return [`The tool asks: ${message}`, ...fields].join("\n");
    }
    case "page":
      return `The tool asks you to open a page: ${question.params.message}\n  ${question.params.url}`;
    case "sample": {
      const asked = question.params.messages.at(-1);
      return `The tool asks the model: ${asked ? textOf(asked) : ""}`;
    }
    case "roots":
      return "The tool asks which folders it may use.";
  }
}
