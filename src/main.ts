/**
 * The executable: serves tools, prompts and resources over HTTP.
 *
 *     main.ts [serve] [module …] [--port N] [--host H]
 *
 * Without modules, those in tools/ are served.
 */
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { listen } from "./host/listen.ts";
import { createParley } from "./mod.ts";
import type { Definition } from "./tool/types.ts";

const TOOLS = "tools";

const { values: { port, host }, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: {
    port: { type: "string", default: "7411" },
    host: { type: "string", default: "127.0.0.1" },
  },
});
const modules = positionals[0] === "serve" ? positionals.slice(1) : positionals;
const definitions = await load(modules.length > 0 ? modules : modulesIn(TOOLS));
const parley = createParley({ serve: definitions });
const server = await listen(parley.fetch, { port: portOf(port), hostname: host });
console.log(`Serving ${countOf(definitions)} at http://${server.hostname}:${server.port}/mcp`);

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);

async function stop(): Promise<void> {
  // Responses are ended first; the listener waits for those.
  await parley.close();
  await server.stop();
  process.exit(0);
}

function modulesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => /\.[jt]s$/.test(name)).sort()
    .map((name) => join(folder, name));
}

async function load(paths: readonly string[]): Promise<Definition[]> {
  const found: Definition[] = [];
  for (const path of paths) {
    const exported: object = await import(pathToFileURL(resolve(path)).href);
    found.push(...Object.values(exported).filter(isDefinition));
  }
  return found;
}

function isDefinition(value: { kind?: unknown } | null | undefined): boolean {
  return ["tool", "prompt", "resource"].includes(value?.kind as string);
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new TypeError(`Cannot listen on port "${text}": it is none; give a number up to 65535`);
}

function countOf(definitions: readonly Definition[]): string {
  return ["tool", "prompt", "resource"].map((kind) => {
    const count = definitions.filter((definition) => definition.kind === kind).length;
    return `${count} ${kind}${count === 1 ? "" : "s"}`;
  }).join(", ");
}
