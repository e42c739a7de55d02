/** `parley bundle`: this program and the tools in one file that Claude Desktop installs. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import process from "node:process";
import { isExecutable } from "../host/self.ts";
import type { Definition, FinalizedMcpTool } from "../tool/types.ts";
import { loadDefinitions } from "./load.ts";
import { Problem, USAGE } from "./problem.ts";
import type { Surroundings } from "./surroundings.ts";
import { zip, type ZipEntry } from "./zip.ts";

export interface BundleOptions {
  readonly name: string;
  readonly out?: string;
  readonly executable?: string;
}

const FOLDER = "server";
const MODULES = `${FOLDER}/modules`;

export async function bundle(
  modules: readonly string[],
  { name, out, executable }: BundleOptions,
  surroundings: Surroundings,
): Promise<number> {
  const { terminal, version } = surroundings;
  const program = executableFor(executable);
  const definitions = await loadDefinitions(modules, surroundings);
  const entryPoint = `${FOLDER}/${process.platform === "win32" ? "parley.exe" : "parley"}`;
  const manifest = manifestFor({ name, version, entryPoint, modules, definitions });
  const packed = await zip([
    { name: "manifest.json", data: encode(`${JSON.stringify(manifest, null, 2)}\n`) },
    { name: entryPoint, data: readFileSync(program), executable: true },
    ...modules.flatMap((path) => filesAt(path, `${MODULES}/${basename(resolve(path))}`)),
  ]);
  const file = resolve(out ?? `${name}-${version}.mcpb`);
  writeFileSync(file, packed);
  terminal.note(
    `${file} (${
      Math.round(packed.length / 1e6)
    } MB) has ${definitions.length} tools for ${process.platform}. Open it with Claude Desktop to install it.`,
  );
  return 0;
}

function executableFor(given: string | undefined): string {
  if (given !== undefined) {
    if (statSync(given, { throwIfNoEntry: false })?.isFile()) return given;
    throw new Problem(
      `Cannot bundle "${given}": there is no such file; compile the program, and give its path`,
      USAGE,
    );
  }
  if (isExecutable()) return process.execPath;
  throw new Problem(
    "Cannot bundle: this is not the compiled program; compile it first (deno task compile, or bun run compile) and pass it with --executable dist/parley",
    USAGE,
  );
}

interface ManifestFacts {
  readonly name: string;
  readonly version: string;
  readonly entryPoint: string;
  readonly modules: readonly string[];
  readonly definitions: readonly Definition[];
}

function manifestFor({ name, version, entryPoint, modules, definitions }: ManifestFacts): object {
  const inside = modules.map((path) => `\${__dirname}/${MODULES}/${basename(resolve(path))}`);
  const tools = definitions.filter(({ kind }) => kind === "tool") as FinalizedMcpTool[];
  return {
    manifest_version: "0.3",
    name,
    version,
    description: tools.length === 0
      ? "Tools that can stop and ask."
      : `Tools that can stop and ask: ${tools.map((tool) => tool.name).join(", ")}.`,
    author: { name: "Parley" },
    license: "MIT",
    server: {
      type: "binary",
      entry_point: entryPoint,
      mcp_config: {
        command: `\${__dirname}/${entryPoint}`,
        args: ["stdio", ...inside],
        env: {},
      },
    },
    tools: tools.map(({ name, description }) => ({ name, description })),
    compatibility: { platforms: [process.platform] },
  };
}

/** A file, or everything in a folder but what can be made again. */
function filesAt(path: string, name: string): ZipEntry[] {
  if (!statSync(path).isDirectory()) return [{ name, data: readFileSync(path) }];
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === "node_modules" || entry.name.startsWith(".")) return [];
    const inner = join(path, entry.name);
    return existsSync(inner) ? filesAt(inner, `${name}/${entry.name}`) : [];
  });
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
