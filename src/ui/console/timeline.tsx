/** @jsxImportSource preact */
/// <reference lib="dom" />
/** The log of a call by LSN, with a lane for each branch. Only the visible part is loaded. */
import { useCallback, useMemo, useReducer, useState } from "preact/hooks";
import type { CallDetail } from "../../model/calls.ts";
import type { ToolSessionEvent } from "../../model/events.ts";
import { EventWindow } from "./calls-data.ts";
import { branchOf, describeEvent } from "./describe-event.ts";
import { duration, Json, Window } from "./parts.tsx";

const ROW = 36;
/** Further branches share the last lane. */
const MAX_LANES = 8;

export function Timeline({ call }: { call: CallDetail }) {
  const { id, firstLSN, lastLSN, branches } = call;
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const [chosen, choose] = useState<number>();
  const log = useMemo(() => new EventWindow(id, () => redraw(0)), [id]);
  const count = Math.max(0, lastLSN - firstLSN + 1);
  const wanted = useCallback(
    (from: number, to: number) => log.want(firstLSN + from, firstLSN + to, lastLSN),
    [log, firstLSN, lastLSN],
  );
  const names = ["", ...branches.filter((name) => name !== "")];
  const lanes = Math.min(names.length, MAX_LANES);
  const event = chosen === undefined ? undefined : log.at(chosen);
  return (
    <div class="split">
      <Window
        label="Events"
        count={count}
        height={ROW}
        wanted={wanted}
        tall="60vh"
        row={(index, style) => {
          const lsn = firstLSN + index;
          return (
            <EventRow
              key={lsn}
              lsn={lsn}
              style={style}
              event={log.at(lsn)}
              lane={(event) => Math.min(lanes - 1, Math.max(0, names.indexOf(log.branchOf(event))))}
              lanes={lanes}
              isChosen={lsn === chosen}
              choose={() => choose(lsn)}
            />
          );
        }}
      />
      <section class="card" aria-label="Event">
        {event
          ? (
            <>
              <h2>Event {event.lsn}</h2>
              {branchOf(event) !== "" && <p class="note">Branch {branchOf(event)}</p>}
              <Json value={event} />
            </>
          )
          : <p class="note">Choose an event to see all of it.</p>}
      </section>
    </div>
  );
}

function EventRow({ lsn, event, style, lane, lanes, isChosen, choose }: {
  lsn: number;
  event: ToolSessionEvent | undefined;
  style: { top: string; height: string };
  lane: (event: ToolSessionEvent) => number;
  lanes: number;
  isChosen: boolean;
  choose: () => void;
}) {
  const described = event && describeEvent(event);
  const at = event ? lane(event) : -1;
  return (
    <button
      type="button"
      class="row event-row"
      style={style}
      aria-pressed={isChosen}
      onClick={choose}
    >
      <span class="lsn">{lsn}</span>
      <span class="lanes" aria-hidden="true">
        {Array.from(
          { length: lanes },
          (_, index) => <i key={index} class={index === at ? `here ${described!.tone}` : ""} />,
        )}
      </span>
      <span class="type">{described?.kind ?? "…"}</span>
      <span class="text">{described?.text}</span>
      <span class="took">
        {described?.took === undefined ? "" : duration(described.took)}
      </span>
    </button>
  );
}
