/**
 * Loads tools, prompts and resources on first use. `initialize` is answered at once; all other
 * messages wait until the definitions are loaded.
 */
import { isObject, parseJson } from "../lib/json.ts";
import type { Fault } from "../run/run-port.ts";
import type { Served } from "../tool/skill.ts";
import type { Catalog } from "./catalog.ts";

/** Tools, prompts, resources and skills that are loaded when the first client asks for them. */
export interface LazyDefinitions {
  /** The kinds of the definitions. The server announces them before the definitions are loaded. */
  readonly kinds: readonly Served["kind"][];
  /** Loads the definitions. Called once. */
  load(): Promise<Iterable<Served>>;
}

export function isLazy(
  serve: Iterable<Served> | LazyDefinitions | undefined,
): serve is LazyDefinitions {
  return serve !== undefined && "load" in serve;
}

export class LazyCatalog {
  readonly #coming: LazyDefinitions;
  readonly #catalog: Catalog;
  readonly #report: (fault: Fault) => void;
  #arriving: Promise<void> | undefined;
  #over = false;

  constructor(coming: LazyDefinitions, catalog: Catalog, report: (fault: Fault) => void) {
    this.#coming = coming;
    this.#catalog = catalog;
    this.#report = report;
  }

  /** The kinds of definitions that are not loaded yet. */
  get kinds(): readonly Served["kind"][] {
    return this.#over ? [] : this.#coming.kinds;
  }

  /**
   * Loads the definitions. Resolves when loading has finished, and never rejects: a failure is
   * reported to the operator. Returns undefined if loading has already finished.
   */
  now(): Promise<void> | undefined {
    return this.#over ? undefined : this.#arriving ??= this.#arrive();
  }

  /** Resolves when a message can be handled. Undefined if the message need not wait. */
  before(message: unknown): Promise<void> | undefined {
    return isObject(message) && message.method === "initialize" ? undefined : this.now();
  }

  /** Like `before`, for a message that has not been parsed yet. */
  beforeText(text: string): Promise<void> | undefined {
    return this.#over ? undefined : this.before(parseJson(text));
  }

  async #arrive(): Promise<void> {
    try {
      for (const definition of await this.#coming.load()) this.#catalog.add(definition);
    } catch (error) {
      const what = "the tools, prompts and resources could not be loaded";
      this.#report({ what, toolName: "-", sessionId: "-", error });
    }
    this.#over = true;
  }
}
