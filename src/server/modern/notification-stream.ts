/** `subscriptions/listen`: a stream of change notifications, until the client or server ends it. */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import { ProtocolError } from "../../model/errors.ts";
import type { ServerChange } from "../../model/events.ts";
import { INVALID_PARAMS } from "../../model/rpc-codes.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import { notificationText, resultText, type RpcId } from "../../wire/json-rpc.ts";
import { declaresTasks, SERVER_INFO, SUBSCRIPTION_ID } from "../../wire/modern/meta.ts";
import type { Served } from "../../tool/skill.ts";
import type { ServerCore } from "../core.ts";
import type { CheckedCaller } from "../access.ts";
import type { Feed, FeedConnection, Send } from "../feed.ts";
import {
  busy,
  type Caller,
  type OpenStream,
  type Refused,
  type ReplyStream,
  type SharedStream,
} from "../reply.ts";
import { MAX_SUBSCRIPTIONS, resourceAt, sizeOfUri } from "../run-target.ts";
import type { RequestContext } from "./receive.ts";
import { missingCapability, MODERN_ERRORS, TASKS_CAPABILITY } from "./refusals.ts";
import { detailedTask, taskOf } from "./tasks.ts";

/** Maximum number of unread messages. If there are more, the oldest are dropped. */
const MAX_WAITING = 1_000;

/** The notifications that a client asked for and the server supports. */
export interface SubscriptionFilter {
  readonly toolsListChanged?: true;
  readonly promptsListChanged?: true;
  readonly resourcesListChanged?: true;
  readonly resourceSubscriptions?: readonly string[];
  readonly taskIds?: readonly string[];
}

function readFilter(core: ServerCore, wanted: JsonObject, caller: Caller): SubscriptionFilter {
  const { catalog } = core;
  const uris = catalog.resources.size > 0 ? strings(wanted.resourceSubscriptions) : undefined;
  return {
    ...(wanted.toolsListChanged === true && catalog.tools.size > 0 && { toolsListChanged: true }),
    ...(wanted.promptsListChanged === true && catalog.prompts.size > 0 &&
      { promptsListChanged: true }),
    ...(wanted.resourcesListChanged === true && catalog.resources.size > 0 &&
      { resourcesListChanged: true }),
    ...(uris && { resourceSubscriptions: uris.filter((uri) => mayHear(core, uri, caller)) }),
  };
}

/** Whether a caller may be notified that a resource has changed. */
function mayHear(core: ServerCore, uri: string, caller: CheckedCaller): boolean {
  const found = resourceAt(core, uri, caller);
  return found !== undefined && core.access.allows(found.resource, caller.who);
}

/** The distinct strings of an array. Undefined if the value is not an array of strings. */
function strings(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.every((item) => typeof item === "string")
    ? [...new Set<string>(value)]
    : undefined;
}

/** The tasks that a client subscribes to. Empty if the request has too many entries. */
export function wantedTasks(wanted: JsonObject): string[] {
  return excess(wanted) === undefined ? strings(wanted.taskIds) ?? [] : [];
}

/** The number of resources and tasks in a request. Undefined if it does not exceed the limit. */
function excess({ resourceSubscriptions, taskIds }: JsonObject): number | undefined {
  const count = (strings(resourceSubscriptions)?.length ?? 0) + (strings(taskIds)?.length ?? 0);
  return count > MAX_SUBSCRIPTIONS ? count : undefined;
}

/** Replies to a `subscriptions/listen` request. */
export function subscribe(
  core: ServerCore,
  open: Set<Subscription>,
  id: RpcId,
  { notifications }: JsonObject,
  { meta, caller }: RequestContext,
): Subscription {
  const { principal } = caller;
  if (!isObject(notifications)) {
    throw new ProtocolError(
      INVALID_PARAMS,
      "Cannot listen: notifications is not an object; send an object",
    );
  }
  const count = excess(notifications);
  if (count !== undefined) {
    throw new ProtocolError(
      INVALID_PARAMS,
      `Cannot listen: the request names ${count} resources and tasks; name at most ${MAX_SUBSCRIPTIONS}`,
    );
  }
  if ("taskIds" in notifications && !declaresTasks(meta.client)) {
    throw missingCapability(TASKS_CAPABILITY);
  }
  const tasks = wantedTasks(notifications).flatMap((taskId) =>
    followable(core, taskId, caller) ?? []
  );
  const filter = readFilter(core, notifications, caller);
  const bytes = (filter.resourceSubscriptions ?? []).reduce((sum, uri) => sum + sizeOfUri(uri), 0);
  const { budget } = core.registry;
  budget.hold(principal, bytes, "listen");
  const subscription = new Subscription(core, open, id, caller, filter, tasks);
  subscription.whenStopped(() => budget.memory.give(principal, bytes));
  return subscription;
}

/** A task that a caller may follow. */
function followable(core: ServerCore, taskId: string, caller: Caller): LiveToolSession | undefined {
  const task = taskOf(core, taskId, caller.principal);
  return task && core.access.allows(task.tool, caller.who) ? task : undefined;
}

export class Subscription implements Feed, ReplyStream, SharedStream {
  readonly decided = true;
  connection: FeedConnection | undefined;
  done = false;
  /** The caller that owns the subscription. */
  readonly principal: string;
  readonly #who: CheckedCaller;
  readonly #core: ServerCore;
  readonly id: RpcId;
  /** All subscriptions with their own connection. They end when the server shuts down. */
  readonly #open: Set<Subscription>;
  readonly #filter: SubscriptionFilter;
  readonly #stops: (() => void)[] = [];
  #waiting: string[] = [];
  #wake: (() => void) | undefined;

  constructor(
    core: ServerCore,
    open: Set<Subscription>,
    id: RpcId,
    caller: Caller,
    filter: SubscriptionFilter,
    tasks: readonly LiveToolSession[],
  ) {
    this.#core = core;
    this.#open = open;
    this.id = id;
    this.principal = caller.principal;
    // Leave out the headers, because they contain the access token.
    this.#who = { who: caller.who };
    this.#filter = filter;
    const agreed = tasks.length > 0 ? { taskIds: tasks.map(({ id }) => id) } : {};
    this.#post("notifications/subscriptions/acknowledged", {
      notifications: { ...filter, ...agreed },
    });
    this.#stops.push(core.changes.listen((change, about) => this.#hear(change, about)));
    for (const task of tasks) this.#follow(task);
    // ACCESS-4, ACCESS-5: end the stream when the token expires or is revoked.
    if (!caller.who) return;
    this.#stops.push(core.access.whenEnded(caller.who, core.deadlines, () => this.end()));
  }

  /** Ends the subscription with a response to its request. */
  end(): void {
    if (this.done) return;
    const _meta = { [SUBSCRIPTION_ID]: this.id, [SERVER_INFO]: this.#core.info };
    this.#waiting.push(resultText(this.id, { resultType: "complete", _meta }));
    this.stop();
    if (this.connection) this.connection.end();
    else this.#wake?.();
  }

  /** Stops the subscription: it receives no more changes. */
  stop(): void {
    this.done = true;
    for (const stop of this.#stops.splice(0)) stop();
  }

  /** Calls `then` when the subscription stops. */
  whenStopped(then: () => void): void {
    this.#stops.push(then);
  }

  whole(): undefined {}

  refuse(problem: string): Refused {
    this.stop();
    return busy(this.id, problem, MODERN_ERRORS);
  }

  open(): OpenStream {
    this.#open.add(this);
    return {
      feed: this,
      first: this.#waiting.splice(0),
      connected: (connection) => this.connection = connection,
      closed: () => {
        this.#open.delete(this);
        this.stop();
      },
    };
  }

  release(): void {
    this.stop();
  }

  read(send: Send): void {
    for (const message of this.#waiting.splice(0)) send(message);
  }

  watch(wake: () => void): () => void {
    this.#wake = wake;
    return () => this.#wake = undefined;
  }

  #follow(task: LiveToolSession): void {
    let last = "";
    const look = () => {
      const state = detailedTask(this.#core, task);
      const { lastUpdatedAt: _when, ...shown } = state;
      const now = JSON.stringify(shown);
      if (now === last) return;
      last = now;
      this.#post("notifications/tasks", state);
      if (task.outcome) unwatch();
    };
    const unwatch = task.log.watch(look);
    this.#stops.push(unwatch);
    look();
  }

  #hear(change: ServerChange, about: Served | undefined): void {
    if (about && !this.#core.access.shows(about, this.#who.who)) return;
    if (change.type === "resource_updated") {
      if (!this.#filter.resourceSubscriptions?.includes(change.uri)) return;
      if (!mayHear(this.#core, change.uri, this.#who)) return;
      this.#postOnce("notifications/resources/updated", { uri: change.uri });
    } else if (this.#filter[`${change.list}ListChanged`]) {
      this.#postOnce(`notifications/${change.list}/list_changed`, {});
    }
  }

  /** Queues a notification, unless an equal one is still unread. */
  #postOnce(method: string, params: JsonObject): void {
    if (!this.#waiting.includes(this.#text(method, params))) this.#post(method, params);
  }

  #text(method: string, params: JsonObject): string {
    return notificationText(method, { ...params, _meta: { [SUBSCRIPTION_ID]: this.id } });
  }

  #post(method: string, params: JsonObject): void {
    this.#waiting.push(this.#text(method, params));
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
    this.#wake?.();
  }
}
