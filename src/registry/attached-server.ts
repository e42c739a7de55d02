/** The server that runs its calls in a registry. A registry has at most one server at a time. */
import type { Operation } from "effection";
import type { ServerChange } from "../model/events.ts";
import type { Site } from "../run/run-port.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { Definition } from "../tool/types.ts";
import { inProcess, type ServerHooks } from "./options.ts";
import type { Sweepable } from "./sweeper.ts";

export class AttachedServer implements Sweepable {
  /** The hooks from the options of the registry. */
  readonly #own: ServerHooks;
  /** The hooks of the attached server, or those of the registry if no server is attached. */
  readonly hooks: ServerHooks;
  /** The functions of the server that tools can use. */
  readonly site: Site;

  constructor(own: ServerHooks) {
    this.#own = this.hooks = own;
    this.site = own.site ?? inProcess;
  }

  attach(hooks: ServerHooks): void {
    if (this.hooks !== this.#own) {
      throw new TypeError(
        "Cannot use the registry: another server uses it; create a separate registry for each server",
      );
    }
    this.#use(hooks);
  }

  detach(): void {
    this.#use(this.#own);
  }

  #use(hooks: ServerHooks): void {
    const own: { -readonly [K in keyof AttachedServer]: AttachedServer[K] } = this;
    own.hooks = hooks;
    own.site = hooks.site ?? inProcess;
  }

  find(kind: Definition["kind"], name: string): Definition | undefined {
    return this.hooks.find?.(kind, name) ?? this.#own.find?.(kind, name);
  }

  announce(change: ServerChange): void {
    this.hooks.announce?.(change);
  }

  /** Notifies the server that a session has resumed without a request, because it was due. */
  woken(session: LiveToolSession): void {
    this.hooks.woken?.(session);
  }

  *sweep(now: number): Operation<number> {
    let swept = 0;
    for (const store of this.hooks.sweep ?? []) swept += yield* store.sweep(now);
    return swept;
  }
}
