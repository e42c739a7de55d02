/**
 * Builds the data about calls that operators see, from sessions, records and events. All data that
 * leaves the registry for an operator goes through this file.
 *
 * SHOWN-1  The data contains no secrets. In the log, sensitive fields are already masked. This file
 *          also leaves out their sealed values, and cuts links to their origin, because a link may
 *          let its holder act as the person.
 */
import { MASK } from "../ask/mask.ts";
import type { CallDetail, CallQuestion, CallState, CallSummary } from "../model/calls.ts";
import {
  type ClientInfo,
  type Door,
  isFinal,
  type Place,
  type ToolSessionEvent,
  type ToolSessionRequest,
} from "../model/events.ts";
import { outcomeIn } from "../session/ending.ts";
import type { LiveToolSession } from "../session/tool-session.ts";
import type { ToolSessionEntry } from "../store/types.ts";
import type { Definition } from "../tool/types.ts";
import { liveState } from "./calls.ts";
import { metaOf } from "./records.ts";

/** The data of a call that is needed to filter and sort a list. */
export interface CallKey {
  readonly id: string;
  readonly tool: string;
  readonly principal: string;
  readonly client: string | undefined;
  readonly state: CallState;
  readonly createdAt: number;
  /** When the oldest open question was asked, in milliseconds since the epoch, if it is known. */
  readonly since: number | undefined;
  readonly doors: readonly Door[];
}

/** The state of a log: its open questions, and whether its tool sleeps or runs a step. */
export interface LogState {
  readonly open: readonly ToolSessionRequest[];
  readonly final: ToolSessionEvent | undefined;
  readonly isWorking: boolean;
  readonly isSleeping: boolean;
}

/** Reads the state of a call from its events. */
export function logState(events: Iterable<ToolSessionEvent>): LogState {
  const open = new Map<string, ToolSessionRequest>();
  const begun = new Map<string, Place>();
  let final: ToolSessionEvent | undefined;
  for (const event of events) {
    switch (event.type) {
      case "elicit_request":
      case "sample_request":
      case "roots_request":
        open.set(event.id, event);
        break;
      case "answer":
      case "withdrawn":
        open.delete(event.requestId);
        break;
      case "begun":
        begun.set(placeText(event.place), event.place);
        break;
      case "fact":
        begun.delete(placeText(event.place));
        break;
      default:
        if (isFinal(event)) final = event;
    }
  }
  const kinds = [...begun.values()].map(({ kind }) => kind);
  return {
    open: final ? [] : [...open.values()],
    final,
    isWorking: kinds.includes("step"),
    isSleeping: kinds.includes("sleep"),
  };
}

function placeText({ branch, kind, key, count }: Place): string {
  return JSON.stringify([branch, kind, key, count]);
}

/** Returns the state of a stored call. */
export function storedState(entry: ToolSessionEntry, log: LogState): CallState {
  if (log.final) return outcomeIn(log.final)!.status;
  if (metaOf(entry).setAside) return "set-aside";
  if (log.isWorking) return "running";
  return log.open.length > 0 || log.isSleeping ? "waiting" : "running";
}

export function storedKey(entry: ToolSessionEntry, log: LogState): CallKey {
  const { id, toolName: tool, createdAt } = entry;
  const { principal = "", client } = metaOf(entry);
  return {
    id,
    tool,
    principal,
    client: client?.name,
    state: storedState(entry, log),
    createdAt,
    since: oldest(log.open.map(askedAt)),
    doors: doorsOf(log.open),
  };
}

export function liveKey(session: LiveToolSession): CallKey {
  const { id, toolName: tool, principal, client, createdAt } = session;
  const open = session.outcome ? [] : session.openRequests();
  return {
    id,
    tool,
    principal,
    client: client.name,
    state: liveState(session),
    createdAt,
    since: oldest(open.map((request) => liveSince(session, request))),
    doors: doorsOf(open),
  };
}

function liveSince(session: LiveToolSession, request: ToolSessionRequest): number | undefined {
  return askedAt(request) ?? session.questions.askedAt(request.id);
}

function askedAt(request: ToolSessionRequest): number | undefined {
  return "askedAt" in request ? request.askedAt : undefined;
}

function oldest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function doorsOf(open: readonly ToolSessionRequest[]): Door[] {
  return open.flatMap((request) =>
    request.type === "elicit_request" ? [request.door ?? "form"] : []
  );
}

/** Returns the view of an open question. `tool` is undefined if this server does not have it. */
export function questionView(
  request: ToolSessionRequest,
  tool: Definition | undefined,
  since = askedAt(request),
): CallQuestion {
  const { id, place: { key, branch }, expiresAt } = request;
  const refused = whyRefused(request, tool);
  const base = {
    id,
    key,
    branch,
    ...(since !== undefined && { since }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(refused !== undefined && { refused }),
  };
  switch (request.type) {
    case "sample_request":
      return { ...base, type: "sample", awaits: "model" };
    case "roots_request":
      return { ...base, type: "roots", awaits: "client" };
    case "elicit_request": {
      const { params, door = "form", sensitive } = request;
      const awaits = formOf(tool, key)?.by === "signed-in" ? "signed-in" : "person";
      const shared = { ...base, type: "elicit", awaits, message: params.message } as const;
      if (params.mode === "url") return { ...shared, door: "page", url: maskedUrl(params.url) };
      const schema = params.requestedSchema;
      return { ...shared, door, schema, ...(sensitive && { sensitive }) };
    }
  }
}

function formOf(tool: Definition | undefined, key: string) {
  return tool && "elicits" in tool ? tool.elicits.get(key) : undefined;
}

/** Returns why an operator may not answer a question, or undefined if an operator may. */
function whyRefused(
  request: ToolSessionRequest,
  tool: Definition | undefined,
): string | undefined {
  if (request.type === "sample_request") return "a language model answers it";
  if (request.type === "roots_request") return "the client answers it";
  if (request.params.mode === "url") return "the person must visit a page";
  const form = formOf(tool, request.place.key);
  if (!form) return "this server does not have its tool";
  return form.by === "signed-in" ? "only the signed-in person may answer it" : undefined;
}

export function storedSummary(
  entry: ToolSessionEntry,
  log: LogState,
  lastLSN: number,
  tool: Definition | undefined,
): CallSummary {
  const { id, toolName, createdAt } = entry;
  const { kind = "tool", principal = "", client, setAside } = metaOf(entry);
  return {
    id,
    kind,
    tool: toolName,
    state: storedState(entry, log),
    inMemory: false,
    durable: true,
    principal,
    ...clientView(client),
    createdAt,
    lastLSN,
    questions: log.open.map((request) => questionView(request, tool)),
    ...(setAside && !log.final && { setAside }),
  };
}

export function liveSummary(session: LiveToolSession): CallSummary {
  const { id, tool, principal, client, createdAt, durable, log } = session;
  const open = session.outcome ? [] : session.openRequests();
  return {
    id,
    kind: tool.kind,
    tool: tool.name,
    state: liveState(session),
    inMemory: true,
    durable,
    principal,
    ...clientView(client),
    createdAt,
    lastLSN: log.lastLSN,
    questions: open.map((request) => questionView(request, tool, liveSince(session, request))),
  };
}

function clientView(
  client: ClientInfo | undefined,
): Pick<CallSummary, "client" | "protocolVersion"> {
  const { name, version, protocolVersion } = client ?? {};
  return {
    ...(name !== undefined && { client: { name, ...(version !== undefined && { version }) } }),
    ...(protocolVersion !== undefined && { protocolVersion }),
  };
}

/** Returns the times and the branches of a call, from its events. */
export function timesOf(
  events: Iterable<ToolSessionEvent>,
  open: readonly CallQuestion[],
  createdAt: number,
  until: number | undefined,
): Pick<CallDetail, "waitingTime" | "workingTime" | "branches"> {
  let waitingTime = 0;
  const branches = new Set<string>();
  for (const event of events) {
    if (event.type === "answer") waitingTime += event.elapsed ?? 0;
    const branch = "place" in event ? event.place.branch : "branch" in event ? event.branch : "";
    if (branch) branches.add(branch);
  }
  const since = oldest(open.map((question) => question.since));
  if (until !== undefined && since !== undefined) waitingTime += Math.max(0, until - since);
  const total = until === undefined ? undefined : Math.max(0, until - createdAt);
  return {
    waitingTime,
    // Questions of several branches may wait at the same time.
    ...(total !== undefined && { workingTime: Math.max(0, total - waitingTime) }),
    branches: [...branches],
  };
}

/** Returns a copy of an event without secrets (SHOWN-1). */
export function maskedEvent(event: ToolSessionEvent): ToolSessionEvent {
  if (event.type === "answer" && event.sealed !== undefined) {
    const { sealed: _sealed, ...rest } = event;
    return rest;
  }
  if (event.type === "elicit_request" && event.params.mode === "url") {
    const { url, elicitationId: _id, ...params } = event.params;
    return { ...event, params: { ...params, url: maskedUrl(url), elicitationId: MASK } };
  }
  if (event.type === "elicit_complete") return { ...event, elicitationId: MASK };
  return event;
}

function maskedUrl(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null || parsed.origin === "null" ? MASK : `${parsed.origin}/${MASK}`;
}
