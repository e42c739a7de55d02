/** Measures which files and functions a message passes through on its way to a tool and back. */
import { spawnSync } from "node:child_process";
import { root } from "../../tests/harness/files.ts";
import { useRuntime } from "../../tests/harness/toolchain.ts";

export type WalkName =
  | "legacy call"
  | "modern question"
  | "modern retry"
  | "revived session"
  | "stdio call";

/** The code that ran from the moment a message was sent until its answer had been read. */
export interface Walk {
  readonly name: WalkName;
  /** Functions in the tool's file that ran. They prove that the walk reached the tool. */
  readonly tool: readonly string[];
  /** Files of `src/`, by path, each with the names of its functions that ran. */
  readonly files: readonly { readonly file: string; readonly functions: readonly string[] }[];
}

/** Measures every walk in a child process. */
export function takeWalks(): Walk[] {
  const program = "bench/servers/walked.ts";
  const { status, stdout, stderr } = spawnSync(
    useRuntime("deno").path,
    ["run", "-A", "--no-check", program],
    { cwd: root, encoding: "utf8" },
  );
  if (status !== 0) {
    throw new Error(`Cannot measure the walks: ${program} failed; see its output\n${stderr}`);
  }
  return JSON.parse(stdout);
}

export function functionsOf({ files }: Walk): number {
  return files.reduce((sum, { functions }) => sum + functions.length, 0);
}

/** One line per walk; with `files`, also one line per file. */
export function walksTable(walks: readonly Walk[], files = false): string {
  const width = Math.max(...walks.map(({ name }) => name.length));
  const line = (name: string, ...figures: (string | number)[]) =>
    [name.padEnd(width), ...figures.map((figure) => String(figure).padStart(9))].join("  ");
  return [
    line("", "files", "functions"),
    ...walks.flatMap((walk) => [
      line(walk.name, walk.files.length, functionsOf(walk)),
      ...(files ? walk.files.map(fileLine) : []),
    ]),
  ].join("\n");
}

function fileLine({ file, functions }: Walk["files"][number]): string {
  return `  ${file}: ${functions.map((name) => name || "(anonymous)").join(", ")}`;
}
