/**
 * Chooses the door for a question. A door is a way to ask the person: a form in the client, an app
 * view in the client, a page in a browser, or the model.
 */
import { canElicitForm } from "../../ask/elicit.ts";
import { isObject } from "../../lib/json.ts";
import type { ClientAnswer, ClientInfo, Door } from "../../model/events.ts";
import type { DoorCall, DoorPort } from "../../run/run-port.ts";
import type { ElicitForm } from "../../tool/elicit-types.ts";

/** The properties of the server that the choice of a door depends on. */
export interface DoorSite {
  readonly formPasswords: boolean;
}

export interface DoorOptions {
  /** The doors that the operator allows. Default: all. */
  readonly doors?: readonly Door[];
}

const ALL: readonly Door[] = ["form", "app", "page", "model"];
/** The doors for passwords: never an app or the model, and a form only if there is no page. */
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
      // The person did not see the question, so the model must not answer in their place.
      !(refused && door === "model") && this.#isThere(door, call, form)
    );
  }

  /** True if the client and the server support a door, and it is allowed for the question. */
  #isThere(door: Door, { client, tool }: DoorCall, { by, sensitive }: ElicitForm): boolean {
    // Only a sign-in on a page could prove who answers, and pages have no sign-in.
    if (by === "signed-in") return false;
    switch (door) {
      case "form":
        return canElicitForm(client) && (sensitive.length === 0 || this.#site.formPasswords);
      case "app":
      case "page":
        return false;
      case "model":
        // A client would store the text of a deferral as the content of the resource.
        return by === "anyone" && tool.kind !== "resource";
    }
  }

  isUnseen(_call: DoorCall, _response: ClientAnswer, _elapsed: number): boolean {
    return false;
  }
}

/** True if a client declares MCP Apps. */
export function declaresApps({ capabilities: { extensions } }: ClientInfo): boolean {
  return isObject(extensions?.["io.modelcontextprotocol/ui"]);
}
