/**
 * Follows the README and every page, word by word, as a new user would: from a clean
 * clone of what is committed, with empty caches and an empty home folder.
 *
 *     deno task docs [--all] [part of a page's path …]
 *
 * With --all the whole suite runs if a page says so; without, one test file, since the
 * suite runs anyway.
 */
import { run } from "effection";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { root } from "../harness/files.ts";
import { commandsOf, listPages, unpackPages } from "../harness/pages.ts";
import { useExampleSite } from "../support/example-site.ts";
import { followCommands, type Way } from "../support/follow.ts";
import { isFree } from "./free-port.ts";
import { checkProxy, checkUnit } from "./surroundings.ts";

const COMPILE = "npx -y bun run compile";

const words = process.argv.slice(2);
const all = words.includes("--all");
const parts = words.filter((word) => !word.startsWith("--"));

const place = mkdtempSync(join(tmpdir(), "parley-docs-"));
const clone = join(place, "parley");
const failures: string[] = [];
let followed = 0;

try {
  git(root, "clone", "--quiet", "--no-hardlinks", root, clone);
  if (git(root, "status", "--porcelain") !== "") {
    console.log("Some changes are not committed, and so not followed.");
  }
  const env = await emptyEnvironment();
  // Pages assume the program that the README compiles.
  if (parts.length > 0 && !parts.some((part) => "README.md".includes(part))) {
    await attempt(() => run(() => followCommands([COMPILE], { cwd: clone, env, told })));
  }
  for (const page of listPages()) {
    const lines = commandsOf(page);
    const wanted = parts.length === 0 || parts.some((part) => page.includes(part));
    if (wanted && lines.length > 0) await follow(page, lines, { cwd: clone, env });
  }
  if (parts.length === 0) {
    for (const check of [checkUnit, checkProxy]) await attempt(() => check(clone, env));
  }
} finally {
  rmSync(place, { recursive: true, force: true });
}
for (const failure of failures) console.log(`FAILED ${failure}`);
console.log(`\n${followed} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 && followed > 0 ? 0 : 1;

/** One page, on a fresh clone, with the files that it and earlier pages show. */
async function follow(page: string, lines: readonly string[], way: Way): Promise<void> {
  console.log(`\n== ${page}`);
  git(clone, "checkout", "--quiet", ".");
  git(clone, "clean", "-fdxq", "-e", "/dist", "-e", "/node_modules");
  const pages = listPages();
  unpackPages(clone, pages.slice(0, pages.indexOf(page) + 1));
  await attempt(() =>
    run(function* () {
      const own = { ...way, ...(!all && { instead: lessTests }), told };
      yield* followCommands(lines, (yield* useExampleSite(lines, own)).way);
    })
  );
}

function told(line: string): void {
  followed++;
  console.log(`   ok: ${line}`);
}

function lessTests(line: string): string | undefined {
  return /deno task test$/.test(line) ? `${line} --deno tests/readme.test.ts` : undefined;
}

async function attempt(step: () => Promise<unknown>): Promise<void> {
  try {
    const said = await step();
    if (typeof said !== "string") return;
    if (said.startsWith("SKIPPED")) console.log(`   ${said}`);
    else told(said);
  } catch (error) {
    failures.push(error instanceof Error ? error.message : String(error));
    console.log(`   FAILED: ${failures.at(-1)}`);
  }
}

/** Nothing of this machine but its programs. */
async function emptyEnvironment(): Promise<{ [name: string]: string | undefined }> {
  const home = join(place, "home");
  mkdirSync(home);
  const gone = Object.keys(process.env).filter((name) => /^(?:PARLEY_|XDG_|DBUS_)/.test(name));
  const free = await isFree(7411);
  if (!free) console.log("Port 7411 is taken, so servers listen elsewhere.");
  return {
    ...Object.fromEntries(gone.map((name) => [name, undefined])),
    HOME: home,
    DENO_DIR: join(home, "deno"),
    npm_config_cache: join(home, "npm"),
    npm_config_userconfig: join(home, ".npmrc"),
    BUN_INSTALL_CACHE_DIR: join(home, "bun"),
    PATH: `${join(clone, "dist")}${delimiter}${process.env["PATH"]}`,
    PORT: free ? undefined : "0",
    CI: "true",
  };
}

function git(cwd: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("git", args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`Cannot git ${args[0]} in ${cwd}: ${stderr.trim()}; see to it`);
  return stdout.trim();
}
