/**
 * `parley bundle`: packs this program and the tools into one file that Claude Desktop installs.
 * The file is written only after its content has been test-started.
 */
import process from "node:process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { type Operation, race, resource, until } from "effection";
import { messageOf } from "../../lib/message-of.ts";
import { type Machine, machineOf, nameOf, runsOn, thisMachine } from "../../platform/machine.ts";
import { isExecutable, selfCommand } from "../../platform/self.ts";
import type { Announced, Environment } from "../environment.ts";
import { Problem, USAGE } from "../problem.ts";
import { exitCodeOf, useSignals } from "../signals.ts";
import { bundleModules } from "./bundle-modules.ts";
import { type Bundled, listAlone, startAlone } from "./bundle-start.ts";
import { zip, type ZipEntry } from "./zip.ts";

export interface BundleOptions {
  readonly name: string;
  readonly out?: string;
  readonly executable?: string;
}

const FOLDER = "server";
/** A placeholder: the app replaces it with the folder in which it unpacks the bundle. */
const INSIDE = "${__dirname}";

export function* bundle(
  modules: readonly string[],
  options: BundleOptions,
  environment: Environment,
): Operation<number> {
  // Ctrl-C ends the race instead of the process, so that the temporary files are removed.
  const signals = yield* useSignals();
  return yield* race([
    make(modules, options, environment),
    (function* () {
      return exitCodeOf((yield* signals.next()).value);
    })(),
  ]);
}

function* make(
  modules: readonly string[],
  { name, out, executable }: BundleOptions,
  { terminal, version, own, shipped }: Environment,
): Operation<number> {
  const program = executableFor(executable);
  const machine = programMachine(program);
  const work = yield* useWorkFolder();
  const content = join(work, "content");
  const server = join(content, FOLDER);
  mkdirSync(server, { recursive: true });
  const external = Object.keys(own);
  const { inside, leftOut } = modules.length === 0
    ? { inside: [], leftOut: [] }
    : yield* bundleModules({ paths: modules, program, out: server, work, external });
  const entryPoint = `${FOLDER}/${machine.platform === "win32" ? "parley.exe" : "parley"}`;
  copyFileSync(program, join(content, entryPoint));
  chmodSync(join(content, entryPoint), 0o755);

  const paths = inside.map((path) => `${FOLDER}/${path}`);
  const { bundled, remark } = startable(content, entryPoint, paths, machine);
  if (bundled) yield* startAlone(bundled, work);
  const definitions = bundled
    ? yield* listAlone(bundled, work)
    : (yield* until(shipped())) as readonly Announced[];
  const tools = definitions.filter(({ kind }) => kind === "tool");

  const manifest = manifestFor({ name, version, entryPoint, paths, tools, machine });
  writeFileSync(join(content, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const packed = yield* zip(entriesIn(content, "", entryPoint));
  const file = resolve(out ?? `${name}-${version}.mcpb`);
  write(file, packed);
  if (leftOut.length > 0) {
    const files = leftOut.map((file) => relative(process.cwd(), file)).join(", ");
    terminal.note(`Private files are not in the bundle: ${files}`);
  }
  const size = `${Math.round(packed.length / 1e6)} MB`;
  const what = `${tools.length} tool${tools.length === 1 ? "" : "s"} for ${nameOf(machine)}`;
  terminal.note(
    `${file} (${size}) contains ${what}${remark}. Open it with Claude Desktop to install it.`,
  );
  return 0;
}

/** A temporary folder that is removed with its content when the scope ends. */
function useWorkFolder(): Operation<string> {
  return resource(function* (provide) {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "parley-bundle-")));
    try {
      yield* provide(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

interface Startable {
  /** The content to start. Undefined if nothing in the bundle can be started on this machine. */
  readonly bundled?: Bundled;
  /** The end of the final message. It says what was test-started. */
  readonly remark: string;
}

/**
 * Decides how to test-start the content. A program for another machine cannot be started here.
 * In that case, the running program loads the modules of the bundle.
 */
function startable(
  content: string,
  entryPoint: string,
  paths: readonly string[],
  machine: Machine,
): Startable {
  const modules = paths.map((path) => join(content, path));
  if (runsOn(machine, thisMachine())) {
    const program = { command: join(content, entryPoint), args: [] };
    return { bundled: { program, modules, content }, remark: ", and passed a test start" };
  }
  const remark = `; the program was not tested, because this is not a ${nameOf(machine)} machine`;
  if (modules.length === 0) return { remark };
  return {
    bundled: { program: selfCommand(), modules, content },
    remark: `${remark}; the modules passed a test start`,
  };
}

function write(file: string, data: Uint8Array): void {
  try {
    writeFileSync(file, data);
  } catch (error) {
    throw new Problem(
      `Cannot write "${file}": ${messageOf(error)}; choose another file with --out`,
    );
  }
}

function programMachine(program: string): Machine {
  const machine = machineOf(program);
  if (machine) return machine;
  throw new Problem(
    `Cannot bundle "${program}": it is not a program for Linux, macOS or Windows; pass the compiled program, such as dist/parley`,
    USAGE,
  );
}

function executableFor(given: string | undefined): string {
  if (given !== undefined) {
    if (statSync(given, { throwIfNoEntry: false })?.isFile()) return resolve(given);
    throw new Problem(
      `Cannot bundle "${given}": there is no such file; compile the program and pass its path`,
      USAGE,
    );
  }
  if (isExecutable()) return process.execPath;
  throw new Problem(
    "Cannot bundle: this program is not compiled; compile it (deno task compile, or bun run compile), then add --executable dist/parley",
    USAGE,
  );
}

interface ManifestFacts {
  readonly name: string;
  readonly version: string;
  readonly entryPoint: string;
  /** Paths of the modules in the bundle. */
  readonly paths: readonly string[];
  readonly tools: readonly Announced[];
  readonly machine: Machine;
}

function manifestFor({ name, version, entryPoint, paths, tools, machine }: ManifestFacts): object {
  return {
    manifest_version: "0.3",
    name,
    version,
    description: tools.length === 0
      ? "MCP tools that can stop and ask the person a question."
      : `MCP tools that can stop and ask the person a question: ${
        tools.map((tool) => tool.name).join(", ")
      }.`,
    author: { name: "Parley" },
    license: "MIT",
    server: {
      type: "binary",
      entry_point: entryPoint,
      mcp_config: {
        command: `${INSIDE}/${entryPoint}`,
        args: ["stdio", ...paths.map((path) => `${INSIDE}/${path}`)],
        env: {},
      },
    },
    tools: tools.map(({ name, description }) => ({ name, description })),
    compatibility: { platforms: [machine.platform] },
  };
}

/** All files in a folder and below. Files come before folders, so the manifest is first. */
function entriesIn(folder: string, path: string, program: string): ZipEntry[] {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => Number(a.isDirectory()) - Number(b.isDirectory()) || (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const [inner, name] = [join(folder, entry.name), `${path}${entry.name}`];
      if (entry.isDirectory()) return entriesIn(inner, `${name}/`, program);
      return [{ name, data: readFileSync(inner), executable: name === program }];
    });
}
