/**
 * Finds closed doors. A door is closed if the client declares it, but answers without showing the
 * question to a person. The behaviour of clients is remembered in this process.
 *
 * CLOSED-1  No caller can close a door for another caller. The behaviour of a client is remembered
 *           per principal, client name and version. Anonymous callers over HTTP cannot be told
 *           apart, so their behaviour is remembered only for one legacy client session, or for one
 *           run of a modern client.
 */
import { isObject } from "../../lib/json.ts";
import { SharedMap } from "../../lib/shares.ts";
import type { ClientAnswer, Door, ElicitRequest } from "../../model/events.ts";
import type { DoorCall } from "../../run/run-port.ts";
import type { ElicitForm } from "../../tool/elicit-types.ts";
import { hidesForm, HIDING, knownClient } from "./known-clients.ts";

/**
 * The shortest time in which a person can refuse a question, in milliseconds, without the client's
 * round trip. A faster refusal comes from a program.
 */
const REACTION = 300;
/** The longest round trip that is assumed, in milliseconds. Longer ones are cut to it. */
const MAX_ROUND_TRIP = 1_000;
/** How many quick refusals close a door, if the client accepted no question in between. */
const QUICK_REFUSALS = 2;
/**
 * Maximum number of clients to remember. Beyond it, the caller with the most clients loses its
 * oldest one.
 */
const MAX_CLIENTS = 1_000;

interface Habits {
  /** The shortest round trip that was observed, in milliseconds. */
  roundTrip?: number;
  /** How many refusals in a row came too fast for a person. */
  quick: number;
  readonly closed: Set<Door>;
}

type Caller = Pick<DoorCall, "client" | "principal">;

export class ClosedDoors {
  /** The behaviour of the clients of named callers, and of the one client of a private channel. */
  readonly #habits = new SharedMap<Habits>(MAX_CLIENTS);
  /** The behaviour of the clients of anonymous callers over HTTP, by client session or run. */
  readonly #unnamed = new WeakMap<object, Habits>();
  /** Returns true if there can be more than one anonymous caller. */
  readonly #isShared: () => boolean;
  /** True if the behaviour of any client is remembered. */
  #isUsed = false;

  constructor(isShared: () => boolean) {
    this.#isShared = isShared;
  }

  /**
   * True if a client does not show questions at this door: by its earlier answers, or because it is
   * known not to show such a form.
   */
  has(caller: Caller, door: Door, form?: Pick<ElicitForm, "response">): boolean {
    if (this.#known(caller)?.closed.has(door)) return true;
    const { client } = caller;
    return door === "form" && form !== undefined && HIDING.test(client.name ?? "") &&
      hidesForm(client, form.response.json);
  }

  /** Records how long a client took to answer a message without a person, in milliseconds. */
  observe(caller: Caller, ms: number): void {
    const habits = this.#habitsOf(caller);
    habits.roundTrip = Math.min(habits.roundTrip ?? Infinity, ms, MAX_ROUND_TRIP);
  }

  /**
   * True if the client gave this answer without showing the question. In that case, closes the
   * door.
   */
  isUnseen(
    caller: Caller,
    request: ElicitRequest,
    response: ClientAnswer,
    elapsed: number,
  ): boolean {
    if (!isObject(response) || "error" in response) return false;
    const { action, content } = response as { action?: unknown; content?: unknown };
    const door = request.door ?? "form";
    const isAccepted = action === "accept";
    if (isAccepted && !(door === "form" && isBlank(request, content))) {
      // Create no entry here: most clients never need one.
      const habits = this.#known(caller);
      if (habits) habits.quick = 0;
      return false;
    }
    const known = knownClient(caller.client);
    if (known?.isPrompt) return false;
    const habits = this.#habitsOf(caller);
    if (isAccepted) return this.#close(habits, door);
    if (action !== "decline" && action !== "cancel") return false;
    if (elapsed > (habits.roundTrip ?? 0) + REACTION) return false;
    habits.quick++;
    return known?.refusesUnseen || habits.quick >= QUICK_REFUSALS
      ? this.#close(habits, door)
      : false;
  }

  #close(habits: Habits, door: Door): true {
    habits.quick = 0;
    habits.closed.add(door);
    return true;
  }

  /** Returns the remembered behaviour of a client. */
  #known(caller: Caller): Habits | undefined {
    if (!this.#isUsed) return undefined;
    if (!this.#isUnnamed(caller)) return this.#habits.get(keyOf(caller));
    return this.#unnamed.get(caller.client) ?? this.#unnamed.get(caller);
  }

  #habitsOf(caller: Caller): Habits {
    const known = this.#known(caller);
    if (known) return known;
    this.#isUsed = true;
    const habits: Habits = { quick: 0, closed: new Set() };
    if (this.#isUnnamed(caller)) {
      // A legacy client session keeps its client object. Each modern request has a new one, so the
      // run is remembered too.
      this.#unnamed.set(caller.client, habits).set(caller, habits);
    } else this.#habits.set(caller.principal, keyOf(caller), habits);
    return habits;
  }

  /** True if the caller cannot be told apart from others (CLOSED-1). */
  #isUnnamed({ principal }: Caller): boolean {
    return principal === "" && this.#isShared();
  }
}

function keyOf({ client: { name = "", version = "" }, principal }: Caller): string {
  return `${principal}\0${name}\0${version}`;
}

/** True if a form with required fields was accepted, and none of its fields was filled in. */
function isBlank({ params }: ElicitRequest, content: unknown): boolean {
  if (params.mode !== "form") return false;
  const { required } = params.requestedSchema;
  return Array.isArray(required) && required.length > 0 &&
    (content === undefined || isObject(content) && Object.keys(content).length === 0);
}
