/**
 * Reads the reports of the test runners and counts tests.
 *
 * Both runners write JUnit, each with its gaps:
 * - Deno lists a `describe` as a separate case beside its tests;
 * - neither lists a file that could not be loaded, nor an error between tests.
 */
import type { RuntimeName } from "./toolchain.ts";

export interface Tally {
  passed: number;
  failed: number;
  /** The names of the tests that did not run. */
  skipped: string[];
  /** Failures outside of tests. */
  complaints: string[];
}

/** What the runner's output says beyond the report. */
export interface Sightings {
  /** Files that ran at least one test. */
  files: Set<string>;
  /** Errors that belong to no test, as printed. */
  strays: string[];
}

interface Case {
  name: string;
  group: string;
  file: string | undefined;
  failure: string | undefined;
  skipped: boolean;
}

/** Adds up one run of `files`. A missing report and a silent failure both count as failed. */
export function tally(
  runtime: RuntimeName,
  run: { files: string[]; report: string | undefined; code: number; sightings: Sightings },
): Tally {
  const complaints = [...run.sightings.strays];
  const listed = readCases(run.report ?? "");
  const cases = runtime === "deno" ? withoutGroups(listed) : listed;
  const seen = new Set([...run.sightings.files, ...listed.map((one) => one.file)]);
  const silent = run.files.filter((file) => !seen.has(file));
  // A file that failed to load is both a stray error and silent: count it once.
  if (silent.length > complaints.length) {
    complaints.splice(0, Infinity, ...silent.map((file) => `${file} ran no test`));
  }
  const failed = cases.filter((one) => one.failure !== undefined).length;
  if (run.report === undefined) complaints.push("the runner left no report");
  else if (run.code !== 0 && failed + complaints.length === 0) {
    complaints.push(`the runner ended with code ${run.code}`);
  }
  return {
    passed: cases.filter((one) => one.failure === undefined && !one.skipped).length,
    failed: failed + complaints.length,
    skipped: cases.filter((one) => one.skipped).map((one) => `${one.group}${one.name}`),
    complaints,
  };
}

/** Reads one line of a runner's output. */
export function sight(runtime: RuntimeName, line: string, into: Sightings): void {
  // deno-lint-ignore no-control-regex
  const plain = line.replace(/\x1b\[[0-9;]*m/g, "");
  if (runtime === "bun") {
    if (plain === "# Unhandled error between tests") into.strays.push("an error between tests");
    return;
  }
  const started = /^running (\d+) tests? from (?:\.\/)?(.+)$/.exec(plain);
  if (started?.[2] && started[1] !== "0") into.files.add(started[2]);
  const stray = /^Uncaught error from (.+) FAILED$/.exec(plain);
  if (stray) into.strays.push(`an error outside of any test in ${stray[1]}`);
}

/** The closing line, read by people and by machines. */
export function closingLine(tallies: readonly Tally[]): string {
  const sum = (pick: (one: Tally) => number) => tallies.reduce((all, one) => all + pick(one), 0);
  const skipped = sum((one) => one.skipped.length);
  const line = `${sum((one) => one.passed)} passed, ${sum((one) => one.failed)} failed`;
  return skipped > 0 ? `${line}, ${skipped} skipped` : line;
}

function readCases(xml: string): Case[] {
  const pattern = /<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;
  return Array.from(xml.matchAll(pattern), ([, attributes = "", body = ""]) => {
    const file = attribute(attributes, "file");
    const group = file === undefined ? undefined : attribute(attributes, "classname");
    return {
      name: attribute(attributes, "name") ?? "",
      group: group ? `${group.split(" > ").reverse().join(" > ")} > ` : "",
      file,
      failure: /<(?:failure|error)\b[^>]*?(?:\/>|>([^<]*))/.exec(body)?.slice(1).join(""),
      skipped: /<skipped\b/.test(body),
    };
  });
}

/** Keep a group that failed by itself, in its body or a hook: that failure appears nowhere else. */
function withoutGroups(cases: Case[]): Case[] {
  const groups = new Set<string>();
  for (const { name } of cases) {
    for (let at = name.indexOf(" > "); at >= 0; at = name.indexOf(" > ", at + 1)) {
      groups.add(name.slice(0, at));
    }
  }
  return cases.filter(({ name, failure }) =>
    !groups.has(name) || (failure !== undefined && !/^\d+ test steps? failed\.$/.test(failure))
  );
}

function attribute(attributes: string, name: string): string | undefined {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1];
  return value?.replace(
    /&(lt|gt|quot|apos|amp);/g,
    (_, entity: keyof typeof entities) => entities[entity],
  );
}

const entities = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
