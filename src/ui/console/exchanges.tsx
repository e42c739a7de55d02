/** @jsxImportSource preact */
/// <reference lib="dom" />
/**
 * The exchanges of a call: each answered question as messages of a conversation, as a model sees it,
 * beside the messages on the wire of either era.
 */
import { useEffect, useState } from "preact/hooks";
import { isObject } from "../../lib/json.ts";
import type { CallDetail } from "../../model/calls.ts";
import type { JsonObject } from "../../model/content.ts";
import type { AnswerBody, ToolSessionEvent, ToolSessionRequest } from "../../model/events.ts";
import { encodeEvent, ProgressTrack } from "../../wire/legacy/encode.ts";
import { inputRequests } from "../../wire/modern/encode.ts";
import { loadEvents } from "./calls-data.ts";
import { Empty, Tabs } from "./parts.tsx";
import { asList, Message } from "./sample-card.tsx";
import { WireLine } from "./run-view.tsx";

/** A question and its answer. The answer is absent while the question is open. */
export interface Exchange {
  readonly request: ToolSessionRequest & { readonly lsn: number };
  readonly answer?: AnswerBody;
}

/** How much of a long log is read: its end. */
const MAX_EVENTS = 5_000;
const PAGE = 1_000;

/** Reads the events of a call that tests and exchanges need. `isWhole` is false for a long log. */
export async function readLog(
  { id, firstLSN, lastLSN }: CallDetail,
): Promise<{ events: ToolSessionEvent[]; isWhole: boolean }> {
  const start = Math.max(firstLSN, lastLSN - MAX_EVENTS + 1);
  const events: ToolSessionEvent[] = [];
  for (let from = start; from <= lastLSN;) {
    const page = await loadEvents(id, from, PAGE);
    if (page.events.length === 0) break;
    events.push(...page.events);
    from = page.events.at(-1)!.lsn + 1;
  }
  return { events, isWhole: start === 1 };
}

export function exchangesIn(events: readonly ToolSessionEvent[]): Exchange[] {
  const answers = new Map<string, AnswerBody>();
  for (const event of events) if (event.type === "answer") answers.set(event.requestId, event);
  return events.flatMap((event) => {
    if (!("place" in event) || !("id" in event)) return [];
    const answer = answers.get(event.id);
    return [{ request: event, ...(answer && { answer }) }];
  });
}

export function Exchanges({ call }: { call: CallDetail }) {
  const [log, setLog] = useState<Awaited<ReturnType<typeof readLog>>>();
  const [era, setEra] = useState<"modern" | "legacy">("modern");
  useEffect(() => {
    let isCurrent = true;
    readLog(call).then((log) => isCurrent && setLog(log), () => {});
    return () => void (isCurrent = false);
  }, [call.id, call.lastLSN]);
  const exchanges = log ? exchangesIn(log.events) : [];
  if (log && exchanges.length === 0) return <Empty title="This call has asked nothing" />;
  return (
    <>
      <Tabs
        label="Protocol revision on the wire"
        tabs={[["modern", "2026-07-28"], ["legacy", "2025-11-25"]]}
        chosen={era}
        choose={setEra}
      />
      {log && !log.isWhole && (
        <p class="note">
          The log is long: these are the exchanges of its last {MAX_EVENTS} events.
        </p>
      )}
      {exchanges.slice(-MAX_SHOWN).map((one) => (
        <Pair key={one.request.id} exchange={one} era={era} />
      ))}
    </>
  );
}

const MAX_SHOWN = 100;

function Pair({ exchange, era }: { exchange: Exchange; era: "modern" | "legacy" }) {
  const { request } = exchange;
  const { branch, kind, key } = request.place;
  const door = request.type === "elicit_request" ? request.door : undefined;
  return (
    <section class="card" aria-label={`Exchange at event ${request.lsn}`}>
      <div class="head">
        <h2>{kind === "sample" ? "sample" : key}</h2>
        <span class="badge bare">event {request.lsn}</span>
        {branch !== "" && <span class="badge bare">branch {branch}</span>}
        {door !== undefined && door !== "form" && (
          <p class="note">
            It was asked at another door ({door}). A client with forms would get this.
          </p>
        )}
      </div>
      <div class="split">
        <div class="chat">
          {messagesOf(exchange).map(({ role, content }, at) => (
            <Message key={at} role={role} content={content} />
          ))}
        </div>
        <div class="wire">
          {wireOf(exchange, era).map((line, at) => (
            <WireLine
              key={`${era}${at}`}
              line={line}
              open
            />
          ))}
        </div>
      </div>
    </section>
  );
}

interface Said {
  readonly role: string;
  readonly content: unknown;
}

/** The exchange as a model sees it: two messages, or three if data was asked for. */
export function messagesOf({ request, answer }: Exchange): Said[] {
  const response = answer?.response;
  if (request.type === "sample_request") {
    const question = request.params.messages.at(-1);
    const asked = question ? [question as Said] : [];
    if (!response || !("role" in response)) return [...asked, ...refusal(response)];
    const blocks = asList(response.content);
    const use = blocks.find((block) => isObject(block) && block.name === "__schema__");
    const said = { role: "assistant", content: response.content };
    if (!isObject(use)) return [...asked, said];
    const ok = { type: "tool_result", toolUseId: use.id, content: [{ type: "text", text: "ok" }] };
    return [...asked, said, { role: "user", content: [ok] }];
  }
  const { id, place } = request;
  const input = request.type === "elicit_request" ? { message: request.params.message } : {};
  const asked = {
    role: "assistant",
    content: [{ type: "tool_use", id, name: place.key || "roots", input }],
  };
  if (!response) return [asked];
  if ("error" in response) return [asked, ...refusal(response)];
  const text = "action" in response
    ? response.action === "accept" ? JSON.stringify(response.content ?? {}) : response.action
    : JSON.stringify(response);
  const result = { type: "tool_result", toolUseId: id, content: [{ type: "text", text }] };
  return [asked, { role: "user", content: [result] }];
}

function refusal(response: AnswerBody["response"] | undefined): Said[] {
  if (!response || !("error" in response)) return [];
  return [{ role: "user", content: `No answer: ${response.error.message}` }];
}

/** The messages of an exchange on the wire. */
export function wireOf(
  { request, answer }: Exchange,
  era: "modern" | "legacy",
): { from: "client" | "server"; text: string }[] {
  const response = answer?.response;
  if (era === "legacy") {
    const asked = encodeEvent(request, {
      id: 1,
      version: "2025-11-25",
      usesTools: true,
      usesUrls: true,
      progressToken: undefined,
      logLevel: "info",
      progress: new ProgressTrack(),
    });
    const { id } = request;
    const message = response &&
      ("error" in response ? { id, ...response } : { id, result: response });
    return [
      { from: "server", text: asked! },
      ...(message ? [client(message)] : []),
    ];
  }
  const asked = {
    resultType: "input_required",
    inputRequests: inputRequests([request]),
    requestState: "…",
  };
  return [
    { from: "server", text: JSON.stringify({ jsonrpc: "2.0", id: 1, result: asked }) },
    ...(response
      ? [client({
        id: 2,
        method: "tools/call",
        params: { inputResponses: { [request.name]: response }, requestState: "…" },
      })]
      : []),
  ];
}

function client(message: JsonObject | object): { from: "client"; text: string } {
  return { from: "client", text: JSON.stringify({ jsonrpc: "2.0", ...message }) };
}
