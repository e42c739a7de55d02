/** The table in README.md, between two marks, made of what the benches found. */
import { cpus, platform } from "node:os";
import process from "node:process";
import type { RuntimeName } from "../../tests/harness/toolchain.ts";
import { figure, type Finding } from "./findings.ts";

const START = "<!-- bench -->";
const END = "<!-- /bench -->";

/** A row: what it says, and what it says it of. Two keys are the legacy and the modern era. */
interface Row {
  readonly what: string;
  readonly keys: readonly string[];
  readonly unit?: string;
  readonly aim: string;
}

const ROWS: readonly Row[] = [
  {
    what: "calls, of the bare runtime's (legacy, modern)",
    keys: ["call-legacy", "call-modern"],
    aim: "≥ 0.5",
  },
  {
    what: "calls, times the v2 SDK's",
    keys: ["call-legacy-v2", "call-modern-v2"],
    aim: "≥ 10, 6",
  },
  {
    what: "CPU of an elicitation, of the v1 and the v2 SDK's",
    keys: ["elicit-legacy", "elicit-modern"],
    aim: "≤ 0.25",
  },
  {
    what: "KB of a parked call: one question, two branches",
    keys: ["parked-one-question", "parked-two-branches"],
    aim: "≤ 6, 16",
  },
  { what: "calls with 100,000 parked, of those with none", keys: ["crowded-call"], aim: "≥ 0.9" },
];

/** The text with its table made anew. */
export function withTable(text: string, findings: readonly Finding[]): string {
  const start = text.indexOf(START);
  const end = text.indexOf(END);
  if (start < 0 || end < start) {
    throw new Error(`Cannot write the table: README.md has no ${START} and ${END}; put them back`);
  }
  return `${text.slice(0, start)}${START}\n${tableOf(findings)}\n${text.slice(end)}`;
}

function tableOf(findings: readonly Finding[]): string {
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} cores, ${platform()} ${process.arch}`;
  const cell = (runtime: RuntimeName, { keys, unit = "" }: Row) =>
    keys.map((key) => {
      const found = findings.find((finding) => finding.runtime === runtime && finding.key === key);
      if (!found) return "-";
      return `${figure(found.value)}${unit}${found.met === false ? " (missed)" : ""}`;
    }).join(", ");
  return [
    `| ${date}, ${machine} | Deno | Bun | aim |`,
    "| --- | --- | --- | --- |",
    ...ROWS.map((row) =>
      `| ${row.what} | ${cell("deno", row)} | ${cell("bun", row)} | ${row.aim} |`
    ),
  ].join("\n");
}
