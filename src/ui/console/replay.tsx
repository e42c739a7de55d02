/** @jsxImportSource preact */
/// <reference lib="dom" />
/**
 * Steps through the log of a call: what its state was after each event. Runs a durable call again,
 * without effects, against the code that is loaded now.
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { CallDetail, DryReplay } from "../../model/calls.ts";
import type { Place, ToolSessionEvent, ToolSessionRequest } from "../../model/events.ts";
import { branchOf, describeEvent } from "./describe-event.ts";
import { readLog } from "./exchanges.tsx";
import { Action, Badge, Json } from "./parts.tsx";
import { post } from "./server.ts";

/** The state of a call after an event. */
export interface StateAt {
  readonly status: string;
  /** The questions that are open. */
  readonly open: readonly ToolSessionRequest[];
  /** The recorded outcomes: what a replay returns again. */
  readonly facts: readonly { readonly lsn: number; readonly place: Place; readonly text: string }[];
  readonly branches: readonly string[];
}

/** Reads the state of a call from its events up to an LSN. */
export function stateAt(events: readonly ToolSessionEvent[], lsn: number): StateAt {
  const open = new Map<string, ToolSessionRequest>();
  const asked = new Map<string, Place>();
  const facts: StateAt["facts"][number][] = [];
  const branches = new Set<string>();
  let status = "running";
  for (const event of events) {
    if (event.lsn > lsn) break;
    const branch = branchOf(event);
    if (branch !== "") branches.add(branch);
    switch (event.type) {
      case "elicit_request":
      case "sample_request":
      case "roots_request":
        open.set(event.id, event);
        asked.set(event.id, event.place);
        break;
      case "withdrawn":
      case "answer": {
        open.delete(event.requestId);
        const place = asked.get(event.requestId);
        if (place) facts.push({ lsn: event.lsn, place, text: describeEvent(event).text });
        break;
      }
      case "fact":
        facts.push({ lsn: event.lsn, place: event.place, text: describeEvent(event).text });
        break;
      case "result":
        status = "completed";
        break;
      case "error":
        status = "failed";
        break;
      case "cancelled":
        status = "cancelled";
        break;
    }
  }
  const questions = [...open.values()];
  if (status === "running" && questions.length > 0) status = "waiting";
  return { status, open: questions, facts, branches: [...branches] };
}

export function Replay({ call, mayAct }: { call: CallDetail; mayAct: boolean }) {
  const [log, setLog] = useState<Awaited<ReturnType<typeof readLog>>>();
  useEffect(() => {
    let isCurrent = true;
    readLog(call).then((log) => isCurrent && setLog(log), () => {});
    return () => void (isCurrent = false);
  }, [call.id, call.lastLSN]);
  if (!log) return <p class="note">Loading …</p>;
  const [first] = log.events;
  if (!first) return <p class="note">This call has no events.</p>;
  return (
    <>
      {!log.isWhole && (
        <p class="note">
          The log is long. The steps start at event{" "}
          {first.lsn}, and know nothing of what was before.
        </p>
      )}
      {call.durable && mayAct && <DryRun id={call.id} />}
      <Steps events={log.events} />
    </>
  );
}

const VERDICTS = {
  same: ["completed", "The replay matches the record: the loaded code does the same."],
  diverged: ["failed", "The replay differs from the record: the loaded code does something else."],
  refused: ["cancelled", "The call cannot run again here."],
} as const;
const STATUSES = { same: "completed", diverged: "failed", missing: "cancelled" } as const;

/** How a place reads for people. */
function placeText(place: Place | "result" | "error"): string {
  if (typeof place === "string") {
    return place === "result" ? "end with a result" : "end with an error";
  }
  const { kind, key, count, branch } = place;
  return [kind, key, count > 0 && `(${count + 1})`, branch && `in ${branch}`].filter(Boolean).join(
    " ",
  );
}

function DryRun({ id }: { id: string }) {
  const [found, setFound] = useState<DryReplay>();
  const again = async () =>
    setFound(await post<DryReplay>(`api/calls/${encodeURIComponent(id)}/replay`));
  return (
    <section class="card" aria-label="Dry run">
      <div class="head">
        <h2>Run it again</h2>
        <span class="end">
          <Action run={again}>Run without effects</Action>
        </span>
        <p>
          The call is compared with the code that is loaded now. Nothing is sent or stored, and no
          step runs.
        </p>
      </div>
      {found && <Verdict found={found} />}
    </section>
  );
}

function Verdict({ found }: { found: DryReplay }) {
  const { verdict, problem, did, divergedAt, versions, steps, next } = found;
  const [state, sentence] = VERDICTS[verdict];
  return (
    <div role="status">
      <p>
        <Badge state={state} label={verdict} /> {sentence} {problem}
      </p>
      {versions && (
        <p class="note">
          Version {versions.recorded ?? "unknown"} began the call; {versions.loaded ?? "none"}{" "}
          is loaded.
        </p>
      )}
      {divergedAt !== undefined && (
        <p>At event {divergedAt}{did && `, it would ${placeText(did)}`}.</p>
      )}
      {steps.length > 0 && (
        <ol class="recorded">
          {steps.slice(-MAX_FACTS).map(({ lsn, place, status }) => (
            <li key={lsn} value={lsn}>
              {placeText(place)} <Badge state={STATUSES[status]} label={status} />
            </li>
          ))}
        </ol>
      )}
      {verdict === "same" && next.length > 0 && (
        <p class="note">Next, it would {next.map(placeText).join(", ")}.</p>
      )}
    </div>
  );
}

/** How many recorded outcomes are shown: the last ones. */
const MAX_FACTS = 100;
const MAX_TEXT = 150;

function Steps({ events }: { events: readonly ToolSessionEvent[] }) {
  const first = events[0]!.lsn;
  const last = events.at(-1)!.lsn;
  const [at, setAt] = useState(first);
  const state = useMemo(() => stateAt(events, at), [events, at]);
  const event = events.find(({ lsn }) => lsn === at);
  const go = (lsn: number) => setAt(Math.min(last, Math.max(first, lsn)));
  return (
    <>
      <div class="card steps">
        <button type="button" disabled={at === first} onClick={() => go(at - 1)}>Back</button>
        <input
          type="range"
          aria-label="Event"
          min={first}
          max={last}
          value={at}
          onInput={({ currentTarget }) => go(Number(currentTarget.value))}
        />
        <button type="button" disabled={at === last} onClick={() => go(at + 1)}>Forward</button>
        <span class="note" role="status">Event {at} of {last}</span>
      </div>
      <div class="split">
        <div>
          <section class="card" aria-label="State">
            <div class="head">
              <h2>After event {at}</h2>
              <Badge state={state.status} />
              {state.branches.map((name) => <span key={name} class="badge bare">branch {name}
              </span>)}
            </div>
            <h3>Open questions</h3>
            {state.open.length === 0 ? <p class="note">None.</p> : (
              <ul>
                {state.open.map(({ id, place }) => (
                  <li key={id}>{place.key || place.kind}{place.branch && ` in ${place.branch}`}</li>
                ))}
              </ul>
            )}
            <h3>Recorded</h3>
            {state.facts.length === 0 ? <p class="note">Nothing.</p> : (
              <ol class="recorded">
                {state.facts.slice(-MAX_FACTS).map(({ lsn, place, text }) => (
                  <li key={lsn} value={lsn}>
                    <b>{place.kind} {place.key}</b>{" "}
                    <span class="note">{text.slice(0, MAX_TEXT)}</span>
                  </li>
                ))}
              </ol>
            )}
          </section>
        </div>
        <section class="card" aria-label="Event of this step">
          <h2>{event && describeEvent(event).kind}</h2>
          <Json value={event} />
        </section>
      </div>
    </>
  );
}
