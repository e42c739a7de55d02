/** The executable. Until there are transports, it tells which tools it would serve. */
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { FinalizedMcpTool } from "./mod.ts";

const folder = resolve("tools");
const files = existsSync(folder) ? readdirSync(folder).filter((name) => /\.[jt]s$/.test(name)) : [];
const tools: FinalizedMcpTool[] = [];
for (const file of files.sort()) {
  const exported: object = await import(pathToFileURL(join(folder, file)).href);
  tools.push(...Object.values(exported).filter((value) => value?.kind === "tool"));
}

console.log(`${tools.length} tool${tools.length === 1 ? "" : "s"} in ${folder}:`);
for (const { name, description } of tools) console.log(`  ${name}  ${description}`);
console.log("They cannot be called from outside yet: the transports are still to come.");
