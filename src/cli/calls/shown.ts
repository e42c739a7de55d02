/**
 * Calls and events as text for the terminal. Control characters in the text of clients and tools
 * are escaped.
 */
import type { CallDetail, CallQuestion, CallSummary, DryReplay } from "../../model/calls.ts";
import type { Place, ToolSessionEvent } from "../../model/events.ts";
import type { Style } from "../terminal/style.ts";
import { visible, visibleJson } from "../terminal/visible.ts";

/** A table of calls: one line for each, and one for each open question. */
export function callLines(calls: readonly CallSummary[], now: number, style: Style): string[] {
  const rows = calls.map((call) => [
    call.id,
    call.state,
    `${call.kind === "tool" ? "" : `${call.kind} `}${line(call.tool)}`,
    call.principal === "" ? "-" : line(call.principal),
    age(now - call.createdAt),
    call.inMemory ? "in memory" : "in the store",
  ]);
  const widths = HEAD.map((head, i) => Math.max(head.length, ...rows.map((row) => row[i]!.length)));
  const padded = (row: readonly string[]) =>
    row.map((cell, i) => cell.padEnd(widths[i]!)).join("  ").trimEnd();
  return [
    style.bold(padded(HEAD)),
    ...calls.flatMap((call, i) => [
      padded(rows[i]!),
      ...call.questions.map((question) => style.dim(`  ${questionLine(question, now)}`)),
      ...(call.setAside
        ? [style.dim(
          `  set aside ${age(now - call.setAside.at)} ago, after ${call.setAside.attempts} crashes`,
        )]
        : []),
    ]),
  ];
}

const HEAD = ["ID", "STATE", "CALLED", "CALLER", "AGE", "WHERE"];

export function questionLine(question: CallQuestion, now: number): string {
  const { key, awaits, door, since, message } = question;
  const waited = since === undefined ? "" : ` for ${age(now - since)}`;
  const at = door === undefined ? "" : ` at the door "${door}"`;
  const said = message === undefined ? "" : `: ${short(line(message), 60)}`;
  return `asks "${line(key)}", waits${waited} for the ${awaited(awaits)}${at}${said}`;
}

function awaited(awaits: CallQuestion["awaits"]): string {
  return awaits === "signed-in" ? "signed-in person" : awaits;
}

export function detailLines(call: CallDetail, now: number, style: Style): string[] {
  const { client, protocolVersion, waitingTime, workingTime, setAside, outcome } = call;
  const rows: [string, string | undefined][] = [
    ["id", call.id],
    ["called", `${call.kind} ${line(call.tool)}`],
    ["state", `${call.state}${call.inMemory ? "" : ", in the store"}`],
    ["caller", call.principal === "" ? "anonymous" : line(call.principal)],
    ["client", client && line(`${client.name ?? ""} ${client.version ?? ""}`.trim())],
    ["protocol", protocolVersion && line(protocolVersion)],
    ["began", new Date(call.createdAt).toISOString()],
    ["worked", workingTime === undefined ? undefined : age(workingTime)],
    ["waited", age(waitingTime)],
    ["arguments", call.params === undefined ? undefined : short(visibleJson(call.params), 200)],
    ["branches", call.branches.length > 0 ? call.branches.map(line).join(", ") : undefined],
    ["set aside", setAside && `after ${setAside.attempts} crashes`],
    ["outcome", outcome && short(visibleJson(outcome), 400)],
  ];
  return [
    ...rows.filter(([, value]) => value !== undefined && value !== "")
      .map(([name, value]) => `${style.dim(name.padEnd(9))}  ${value}`),
    ...call.questions.map((question) => questionLine(question, now)),
  ];
}

/** One line for an event of a log. */
export function eventLine(event: ToolSessionEvent, style: Style): string {
  const { lsn, type } = event;
  return `${style.dim(String(lsn).padStart(5))}  ${type.padEnd(15)}  ${short(told(event), 160)}`;
}

function told(event: ToolSessionEvent): string {
  switch (event.type) {
    case "progress":
      return line(
        `${event.progress}${event.total === undefined ? "" : `/${event.total}`} ${
          event.message ?? ""
        }`,
      );
    case "log":
      return `${event.level} ${visibleJson(event.data ?? null)}`;
    case "elicit_request":
      return line(`${event.place.key} at ${event.door ?? "form"}: ${event.params.message}`);
    case "sample_request":
    case "roots_request":
      return line(event.place.key);
    case "answer": {
      const took = event.elapsed === undefined ? "" : ` after ${age(event.elapsed)}`;
      return `${line(event.requestId)} via ${event.via ?? "client"}${took}: ${
        visibleJson(event.response)
      }`;
    }
    case "begun":
      return line(`${event.place.kind} ${event.place.key}`);
    case "fact":
      return `${line(`${event.place.kind} ${event.place.key}`)}: ${
        visibleJson(event.outcome.ok ? event.outcome.value ?? null : event.outcome.error)
      }`;
    case "withdrawn":
      return line(`${event.requestId}: ${event.reason}`);
    case "result":
      return visibleJson(event.result);
    case "error":
      return line(event.error.message);
    case "cancelling":
    case "cancelled":
      return line(`by the ${event.by}: ${event.reason}`);
    default:
      return "";
  }
}

/** The steps of a dry replay, and where the code did something else. */
export function replayLines(replay: DryReplay, style: Style): string[] {
  const { verdict, problem, steps, next, versions, did } = replay;
  const placed = ({ branch, kind, key, count }: Place) =>
    line(`${kind} ${key}${count > 0 ? ` (number ${count + 1})` : ""}${branch && ` in ${branch}`}`);
  return [
    ...steps.map(({ lsn, place, status }) => {
      const text = `${String(lsn).padStart(5)}  ${status.padEnd(8)}  ${placed(place)}`;
      return status === "same" ? text : style.red(text);
    }),
    ...(did ? [`instead: ${placed(did)}`] : []),
    ...next.map((one) => `next: ${typeof one === "string" ? one : placed(one)}`),
    ...(versions
      ? [
        `The call began with version ${
          line(versions.recorded ?? "none")
        } of the tool, and version ${
          line(versions.loaded ?? "none")
        } is loaded: a server does not continue it.`,
      ]
      : []),
    verdict === "same"
      ? style.green("The replay matches the record: the loaded code does the same.")
      : style.red(
        `The replay ${verdict === "refused" ? "was refused" : "diverged"}: ${line(problem ?? "")}`,
      ),
  ];
}

/** One line: line breaks become spaces, and control characters are escaped. */
function line(text: string): string {
  return visible(text.replace(/\s+/g, " "));
}

function short(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** A duration with its largest unit. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}
