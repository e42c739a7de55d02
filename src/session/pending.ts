/** The questions of one session: which are open, and under which names they went out. */
import type { PlacedQuestion, Reply } from "../ask/ask.ts";
import type { ToolSessionRequest } from "../model/events.ts";
import type { Deadline } from "../lib/deadlines.ts";

export interface OpenRequest {
  readonly request: ToolSessionRequest;
  resolve(reply: Reply): void;
  deadline?: Deadline;
  /** It is recorded, and may be shown. */
  put?: boolean;
  /** Its answer is being recorded; a second one comes too late. */
  answered?: boolean;
}

export class Pending {
  readonly open = new Map<string, OpenRequest>();
  #asked: number;
  #names: Set<string> | undefined;
  #firstName: string | undefined;

  /** Goes on where an earlier run of the same session left off. */
  constructor(asked = 0, names?: ReadonlySet<string>) {
    this.#asked = asked;
    if (names && names.size > 0) {
      this.#names = new Set(names);
      [this.#firstName] = names;
    }
  }

  /** Gives a question its id and its name. */
  number(sessionId: string, question: PlacedQuestion, expiresAt?: number): ToolSessionRequest {
    const request = this.#numbered(sessionId, question);
    return expiresAt === undefined ? request : { ...request, expiresAt };
  }

  #numbered(sessionId: string, question: PlacedQuestion): ToolSessionRequest {
    const { kind, key, place } = question;
    const seq = ++this.#asked;
    const name = this.#name(key);
    switch (kind) {
      case "elicit":
      case "elicit_url":
        return {
          type: "elicit_request",
          id: `elicit_${sessionId}_${seq}`,
          name,
          place,
          params: question.params,
          ...("sensitive" in question && { sensitive: question.sensitive }),
        };
      case "sample":
        return {
          type: "sample_request",
          id: `sample_${sessionId}_${seq}`,
          name,
          place,
          params: question.params,
        };
      case "roots":
        return { type: "roots_request", id: `roots_${sessionId}_${seq}`, name, place };
    }
  }

  /** Whether a question with this id was ever put. */
  wasAsked(sessionId: string, requestId: string): boolean {
    const [, seq] = requestId.match(/^(?:elicit|sample|roots)_.*_([1-9]\d*)$/) ?? [];
    return seq !== undefined && Number(seq) <= this.#asked &&
      requestId.slice(requestId.indexOf("_") + 1) === `${sessionId}_${seq}`;
  }

  /** The key itself the first time, numbered after that; never the same twice. */
  #name(key: string): string {
    // Most runs ask once, and need no set for that.
    if (this.#firstName === undefined) return this.#firstName = key;
    const names = this.#names ??= new Set([this.#firstName]);
    let name = key;
    for (let n = 2; names.has(name); n++) name = `${key}_${n}`;
    names.add(name);
    return name;
  }
}
