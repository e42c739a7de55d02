/** Chooses the door at which a question is asked, and remembers the doors that are closed. */
import { canElicitForm } from "../../ask/elicit.ts";
import { isObject } from "../../lib/json.ts";
import type { ClientAnswer, ClientInfo, Door } from "../../model/events.ts";
import type { DoorCall, DoorPort } from "../../run/run-port.ts";
import type { ElicitForm } from "../../tool/elicit-types.ts";

/** The part of the server's pages that the choice of a door depends on. */
export interface DoorSite {
  readonly formPasswords: boolean;
}

export interface DoorOptions {
  /** The doors that the operator allows. Default: all. */
  readonly doors?: readonly Door[];
}

const ALL: readonly Door[] = ["form", "app", "page", "model"];
/** Passwords never pass through an app or a model, and through a form only as a last resort. */
const FOR_SECRETS: readonly Door[] = ["page", "form"];

export class Doors implements DoorPort {
  readonly #site: DoorSite;
  readonly #allowed: ReadonlySet<Door>;

  constructor(site: DoorSite, { doors = ALL }: DoorOptions = {}) {
    this.#site = site;
    this.#allowed = new Set(doors);
  }

  choose(
    call: DoorCall,
    form: ElicitForm,
    tried: readonly Door[],
    refused: boolean,
  ): Door | undefined {
    const order = form.sensitive.length > 0 ? FOR_SECRETS : ALL;
    return order.find((door) =>
      this.#allowed.has(door) && (form.doors?.includes(door) ?? true) && !tried.includes(door) &&
      // Nobody saw the question, so the model must not answer it on its own.
      !(refused && door === "model") && this.#isThere(door, call, form)
    );
  }

  /** Whether the client and the server have a door, and the question may be asked there. */
  #isThere(door: Door, { client, tool }: DoorCall, { by, sensitive }: ElicitForm): boolean {
    // Signing in on a page is the only proof of who answers, and pages have no sign-in.
    if (by === "signed-in") return false;
    switch (door) {
      case "form":
        return canElicitForm(client) && (sensitive.length === 0 || this.#site.formPasswords);
      case "app":
      case "page":
        return false;
      case "model":
        // The text of a deferred resource would be kept as its content.
        return by === "anyone" && tool.kind !== "resource";
    }
  }

  isUnseen(_call: DoorCall, _response: ClientAnswer, _elapsed: number): boolean {
    return false;
  }
}

/** Whether a client declares MCP Apps. */
export function declaresApps({ capabilities: { extensions } }: ClientInfo): boolean {
  return isObject(extensions?.["io.modelcontextprotocol/ui"]);
}
