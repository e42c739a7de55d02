/** @jsxImportSource preact */
/// <reference lib="dom" />
/** The list of calls: live, waiting, suspended in the store, and finished. */
import type { CallSummary } from "../../model/calls.ts";
import { type Updates, useCalls } from "./calls-data.ts";
import { Badge, duration, Empty, useNow, Window } from "./parts.tsx";

const ROW = 58;

const STATES = [
  ["", "Any state"],
  ["waiting", "Waiting"],
  ["running", "Running"],
  ["set-aside", "Set aside"],
  ["completed", "Completed"],
  ["failed", "Failed"],
  ["cancelled", "Cancelled"],
] as const;
const DOORS = [["", "Any"], ["form", "Form"], ["app", "App view"], ["page", "Page"], [
  "model",
  "Model",
]] as const;
const AGES = [["", "Any"], ["60000", "Over a minute"], ["3600000", "Over an hour"], [
  "86400000",
  "Over a day",
]] as const;
const ORDERS = [["", "Longest waiting"], ["newest", "Newest first"], [
  "oldest",
  "Oldest first",
]] as const;
const TEXTS = [["tool", "Tool"], ["client", "Client"], ["principal", "Caller"]] as const;

/** The address of the list with one filter changed. */
function withFilter(query: URLSearchParams, name: string, value: string): string {
  const next = new URLSearchParams(query);
  if (value === "") next.delete(name);
  else next.set(name, value);
  return `#/calls${next.size > 0 ? `?${next}` : ""}`;
}

export function CallList({ query, updates }: { query: URLSearchParams; updates: Updates }) {
  const { calls, total, problem, isLoaded, wanted } = useCalls(query.toString(), updates);
  const now = useNow();
  const choose = (name: string, value: string) => location.hash = withFilter(query, name, value);
  const select = (
    name: string,
    label: string,
    options: readonly (readonly [string, string])[],
  ) => (
    <label>
      {label}
      <select
        value={query.get(name) ?? ""}
        onChange={({ currentTarget }) => choose(name, currentTarget.value)}
      >
        {options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </label>
  );
  return (
    <>
      <div class="head">
        <h1>Calls</h1>
        <span class="note" role="status">
          {isLoaded && `${total.toLocaleString("en")} ${total === 1 ? "call" : "calls"}`}
        </span>
        <p>What runs, what waits for an answer, and what has ended.</p>
      </div>
      <div class="filters">
        {select("state", "State", STATES)}
        {TEXTS.map(([name, label]) => (
          <label key={name}>
            {label}
            <input
              type="search"
              value={query.get(name) ?? ""}
              placeholder="Any"
              onChange={({ currentTarget }) => choose(name, currentTarget.value.trim())}
            />
          </label>
        ))}
        {select("door", "Asked by", DOORS)}
        {select("olderThan", "Age", AGES)}
        {select("order", "Order", ORDERS)}
      </div>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {isLoaded && total === 0
        ? (
          <div class="card">
            <Empty title={query.size > 0 ? "No call matches" : "No calls yet"}>
              <p>
                {query.size > 0 ? <a href="#/calls">Remove the filters</a> : (
                  <>
                    Call a tool from a client, or <a href="#/play">play one</a>.
                  </>
                )}
              </p>
            </Empty>
          </div>
        )
        : (
          <Window
            label="Calls"
            count={total}
            height={ROW}
            wanted={wanted}
            row={(index, style) =>
              calls[index]
                ? <Row key={index} call={calls[index]} style={style} now={now} />
                : <div key={index} class="row call-row" style={style} aria-hidden="true">…</div>}
          />
        )}
    </>
  );
}

function Row({ call, style, now }: {
  call: CallSummary;
  style: { top: string; height: string };
  now: number;
}) {
  const { id, tool, state, client, principal, createdAt, questions: [question] } = call;
  const since = question?.since ?? createdAt;
  const detail = question
    ? question.message?.split("\n", 1)[0] ?? `Asks ${awaited(question.awaits)}`
    : call.kind === "tool"
    ? id
    : `${call.kind} · ${id}`;
  return (
    <a class="row call-row" style={style} href={`#/calls/${encodeURIComponent(id)}`}>
      <span class="state">
        <Badge state={state} />
      </span>
      <span class="what">
        <b>{tool}</b>
        <span>{detail}</span>
      </span>
      <span class="by">{client?.name ?? principal}</span>
      <span class="by">{question ? question.door ?? question.type : ""}</span>
      <span class="age">
        {state === "waiting" && question ? "waits " : ""}
        {duration(Math.max(0, now - since))}
      </span>
    </a>
  );
}

/** Who is awaited, in words. */
export function awaited(who: "person" | "signed-in" | "model" | "client"): string {
  return {
    "person": "the person",
    "signed-in": "the signed-in person",
    "model": "the model",
    "client": "the client",
  }[who];
}
