/** The table in README.md, which follows a mark, made of what the benches found. */
import { cpus, platform } from "node:os";
import process from "node:process";
import type { RuntimeName } from "../../tests/harness/toolchain.ts";
import { figure, type Finding } from "./findings.ts";

/** A mark, a blank line, and the lines of a table. */
const TABLE = /(<!-- bench -->\n\n)(?:\|.*\n)+/;

/** A row: what it is about, the findings it shows, and what was aimed for. */
interface Row {
  readonly what: string;
  readonly keys: readonly string[];
  readonly aim: string;
}

const ROWS: readonly Row[] = [
  {
    what: "calls, of a bare server's",
    keys: ["call-legacy", "call-modern"],
    aim: "≥ 0.5",
  },
  {
    what: "calls, times the v2 SDK's",
    keys: ["call-legacy-v2", "call-modern-v2"],
    aim: "≥ 10, on Bun 6",
  },
  {
    what: "99th percentile of a call, of a bare server's",
    keys: ["call-legacy-p99", "call-modern-p99"],
    aim: "≤ 3",
  },
  {
    what: "cost of a question, of the v1, v2 SDK's",
    keys: ["elicit-legacy", "elicit-modern"],
    aim: "≤ 0.25",
  },
  {
    what: "writes for 100 progress events",
    keys: ["progress-legacy-writes", "progress-modern-writes"],
    aim: "≤ 3",
  },
  {
    what: "cost of those, of the v1, v2 SDK's",
    keys: ["progress-legacy", "progress-modern"],
    aim: "",
  },
  {
    what: "calls, questions with 100 000 parked, of those with none",
    keys: ["crowded-call", "crowded-elicit"],
    aim: "≥ 0.9",
  },
  {
    what: "KB parked: one question, two branches",
    keys: ["parked-one-question", "parked-two-branches"],
    aim: "≤ 6, 16",
  },
  {
    what: "KB parked, with all that a server keeps of a call",
    keys: ["parked-served"],
    aim: "≤ 6",
  },
  {
    what: "KB that the heap has grown by after a million calls",
    keys: ["memory"],
    aim: "≤ 512",
  },
  {
    what: "calls over stdio, of a bare program's; times the v1, v2 SDK's",
    keys: ["stdio", "stdio-v1", "stdio-v2"],
    aim: "",
  },
  {
    what: "start to the first answer, of a bare executable's: HTTP, stdio",
    keys: ["start-http", "start-stdio"],
    aim: "≤ 4",
  },
  {
    what: "size of the executable, of a bare one's",
    keys: ["file-size"],
    aim: "",
  },
];

/** The text with its table made anew. */
export function withTable(text: string, findings: readonly Finding[]): string {
  if (!TABLE.test(text)) {
    throw new Error(
      "Cannot write the table: README.md has no <!-- bench --> with one; put it back",
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
    [`${date}, ${machine}`, "Deno", "Bun", "aim"],
    ...ROWS.map((row) => [row.what, cell("deno", row), cell("bun", row), row.aim]),
  ]);
}

/** With columns of one width each, as the formatter wants it. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text, at) => text.padEnd(widths[at]!)).join(" | ")} |`;
  const rule = line(widths.map((width) => "-".repeat(width)));
  return [line(rows[0]!), rule, ...rows.slice(1).map(line)].join("\n");
}
