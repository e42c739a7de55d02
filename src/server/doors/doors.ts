/**
 * Chooses the door of a question. A door is a way to ask the person: a form of the client, a view
 * of an app, a page, or the model. Remembers which doors are closed.
 */
import { canElicitForm, canElicitUrl } from "../../ask/elicit.ts";
import { type ClientAnswer, type Door, DOORS, type ElicitRequest } from "../../model/events.ts";
import type { DoorCall, DoorPort, SamplingSetup } from "../../run/run-port.ts";
import type { ElicitForm } from "../../tool/elicit-types.ts";
import type { ServerSite } from "../../tool/site.ts";
import type { Gate } from "../access.ts";
import { canShowApps } from "../views.ts";
import { ClosedDoors } from "./closed-doors.ts";

export interface DoorOptions {
  /** The doors that the operator allows. Default: all. */
  readonly doors?: readonly Door[];
  readonly sampling?: Pick<SamplingSetup, "byCaller">;
  readonly openBrowser?: (url: string) => void;
  /** Signs in people who open a page. Default: the server does not check access tokens. */
  readonly gate?: Pick<Gate, "canSignIn">;
  readonly canOpenBrowser?: () => boolean;
}

/** The doors for passwords: never an app or the model, and a form only if there is no page. */
const FOR_SECRETS: readonly Door[] = ["page", "form"];

export class Doors implements DoorPort {
  readonly #site: ServerSite;
  readonly #allowed: ReadonlySet<Door>;
  readonly #closed: ClosedDoors;

  readonly modelByCaller: boolean;
  readonly #opensBrowser: () => boolean;
  readonly #gate: DoorOptions["gate"];

  /** `site.exposed` is true if the server has received calls over HTTP. */
  constructor(
    site: ServerSite & { readonly exposed: boolean },
    { doors = DOORS, sampling, openBrowser, canOpenBrowser, gate }: DoorOptions = {},
  ) {
    this.#gate = gate;
    this.#closed = new ClosedDoors(() => site.exposed);
    this.#opensBrowser = canOpenBrowser ?? (() => openBrowser !== undefined);
    this.modelByCaller = sampling?.byCaller ?? false;
    this.#site = site;
    this.#allowed = new Set(doors);
  }

  choose(
    call: DoorCall,
    form: ElicitForm,
    tried: readonly Door[],
    refused: boolean,
  ): Door | undefined {
    const order = form.sensitive.length > 0 ? FOR_SECRETS : DOORS;
    let closed: Door | undefined;
    for (const door of order) {
      if (!this.#allowed.has(door) || tried.includes(door)) continue;
      if (form.doors && !form.doors.includes(door)) continue;
      // The person did not see the question, so the model must not answer in their place.
      if (refused && door === "model") continue;
      if (!this.#isThere(door, call, form)) continue;
      if (!this.#closed.has(call, door, form)) return door;
      closed ??= door;
    }
    // Use a closed door only if all doors are closed.
    return tried.length === 0 ? closed : undefined;
  }

  /** True if the client and the server support a door, and it is allowed for the question. */
  #isThere(door: Door, call: DoorCall, { by, sensitive, doors }: ElicitForm): boolean {
    const { client, tool, principal } = call;
    const signsIn = door === "page" && this.#gate?.canSignIn(principal) === true;
    if (by === "signed-in" && !signsIn) return false;
    switch (door) {
      case "form":
        return canElicitForm(client) && (sensitive.length === 0 || this.#site.formPasswords);
      case "app":
        return tool.kind === "tool" && canShowApps(client) && !canElicitForm(client);
      case "page":
        // If the server checks tokens, the page opens only for people who can sign in.
        return (this.#site.url !== undefined || this.#site.local) && (signsIn || !this.#gate) &&
          (signsIn || canShowLink(doors) || canElicitUrl(client) ||
            this.#site.local && this.#opensBrowser());
      case "model":
        // Resources have no deferrals, because a client would store one as the content of the
        // resource.
        return by === "anyone" && tool.kind !== "resource";
    }
  }

  isUnseen(
    call: DoorCall,
    request: ElicitRequest,
    response: ClientAnswer,
    elapsed: number,
  ): boolean {
    return this.#closed.isUnseen(call, request, response, elapsed);
  }

  canSignIn(principal: string): boolean {
    return this.#gate?.canSignIn(principal) ?? false;
  }

  observe(caller: Pick<DoorCall, "client" | "principal">, ms: number): void {
    this.#closed.observe(caller, ms);
  }
}

/**
 * True if the link to a page without a sign-in may be in a result, which the model reads. If the
 * author allows only pages, the link may not be there, because a model with a shell could open it
 * and answer.
 */
function canShowLink(doors: readonly Door[] | undefined): boolean {
  return doors === undefined || doors.some((door) => door !== "page");
}
