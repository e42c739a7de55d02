/** Generates the table in README.md from the findings of the benchmarks. */
import { cpus, platform } from "node:os";
import process from "node:process";
import type { RuntimeName } from "../../tests/harness/toolchain.ts";
import { figure, type Finding } from "./findings.ts";

/** Matches a mark, a blank line, and the lines of a table. */
const TABLE = /(<!-- bench -->\n\n)(?:\|.*\n)+/;

/** A row: its label, the findings that it shows, and the target. */
interface Row {
  readonly what: string;
  readonly keys: readonly string[];
  readonly aim: string;
}

const ROWS: readonly Row[] = [
  {
    what: "calls per CPU second, relative to a minimal server",
    keys: ["call-legacy", "call-modern"],
    aim: "≥ 0.5",
  },
  {
    what: "calls per CPU second, relative to the v2 SDK",
    keys: ["call-legacy-v2", "call-modern-v2"],
    aim: "≥ 10, on Bun 6",
  },
  {
    what: "p99 latency of a call, relative to a minimal server",
    keys: ["call-legacy-p99", "call-modern-p99"],
    aim: "≤ 3",
  },
  {
    what: "CPU time of a question, relative to the v1, v2 SDK",
    keys: ["elicit-legacy", "elicit-modern"],
    aim: "≤ 0.25",
  },
  {
    what: "writes for 100 progress events",
    keys: ["progress-legacy-writes", "progress-modern-writes"],
    aim: "≤ 3",
  },
  {
    what: "CPU time of these, relative to the v1, v2 SDK",
    keys: ["progress-legacy", "progress-modern"],
    aim: "",
  },
  {
    what: "calls, questions with 100,000 parked calls, relative to none",
    keys: ["crowded-call", "crowded-elicit"],
    aim: "≥ 0.9",
  },
  {
    what: "KB of heap per parked call: one question, two branches",
    keys: ["parked-one-question", "parked-two-branches"],
    aim: "≤ 6, 16",
  },
  {
    what: "KB of heap per parked call, with all data of the server",
    keys: ["parked-served"],
    aim: "≤ 6",
  },
  {
    what: "KB of heap growth after a million calls",
    keys: ["memory"],
    aim: "≤ 512",
  },
  {
    what: "calls over stdio, relative to a minimal program, v1, v2 SDK",
    keys: ["stdio", "stdio-v1", "stdio-v2"],
    aim: "",
  },
  {
    what: "start to first answer, relative to a minimal one: HTTP, stdio",
    keys: ["start-http", "start-stdio"],
    aim: "≤ 4",
  },
  {
    what: "size of the executable, relative to a minimal one",
    keys: ["file-size"],
    aim: "",
  },
];

/** Returns the text with a new table. */
export function withTable(text: string, findings: readonly Finding[]): string {
  if (!TABLE.test(text)) {
    throw new Error(
      "Cannot write the table: README.md has no table after <!-- bench -->; add it again",
    );
  }
  return text.replace(TABLE, (_, mark) => `${mark}${tableOf(findings)}\n`);
}

function tableOf(findings: readonly Finding[]): string {
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} cores, ${platform()} ${process.arch}`;
  const cell = (runtime: RuntimeName, { keys }: Row) =>
    keys.map((key) => {
      const found = findings.find((finding) => finding.runtime === runtime && finding.key === key);
      if (!found) return "-";
      return `${figure(found.value)}${found.met === false ? "*" : ""}`;
    }).join(", ");
  return aligned([
    [`${date}, ${machine}`, "Deno", "Bun", "target"],
    ...ROWS.map((row) => [row.what, cell("deno", row), cell("bun", row), row.aim]),
  ]);
}

/** Pads columns to the same width, as the formatter does. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text, at) => text.padEnd(widths[at]!)).join(" | ")} |`;
  const rule = line(widths.map((width) => "-".repeat(width)));
  return [line(rows[0]!), rule, ...rows.slice(1).map(line)].join("\n");
}
