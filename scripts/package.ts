/**
 * Builds the npm package into a folder: ES modules, types, and the program. All dependencies are
 * bundled, with two exceptions: `effection` and `zod`, which tools and Parley must share, and
 * native addons, which npm chooses for each machine.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readText, root } from "../tests/harness/files.ts";
import { useRuntime } from "../tests/harness/toolchain.ts";
import { SCHEMA_FILE } from "./config-schema.ts";
import { thirdPartyText } from "./third-party.ts";

/** Packages that tools and Parley must share. */
const SHARED = ["effection", "zod"];

/** Packages that differ between machines, so npm has to choose among them. All are optional. */
const NATIVE = ["@napi-rs/keyring"];

const manifest = JSON.parse(readText("package.json"));

/** Builds the package into a folder, and empties the folder first. */
export function buildPackage(out: string): void {
  rmSync(out, { recursive: true, force: true });
  succeed(useRuntime("bun").path, [
    "build",
    "src/mod.ts",
    "src/main.ts",
    "--target=node",
    "--format=esm",
    "--splitting",
    "--sourcemap=none",
    `--outdir=${out}`,
    "--chunk-naming=chunks/[name]-[hash].[ext]",
    ...[...SHARED, ...NATIVE].flatMap((name) => ["--external", name, "--external", `${name}/*`]),
  ]);
  writeProgram(out);
  writeTypes(out);
  writeManifest(out);
  for (const file of ["README.md", "LICENSE", SCHEMA_FILE]) {
    cpSync(join(root, file), join(out, file));
  }
  writeFileSync(join(out, "THIRD-PARTY.txt"), thirdPartyText(SHARED));
}

function succeed(path: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(path, args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`Cannot build:\n${stdout}${stderr}`);
}

function writeProgram(out: string): void {
  const file = join(out, "main.js");
  const text = readFileSync(file, "utf8").replace(/^#!.*\n|^\/\/ @bun.*\n/gm, "");
  writeFileSync(file, `#!/usr/bin/env node\n${text}`, { mode: 0o755 });
}

/** Writes one declaration file for each source file, with TypeScript. */
function writeTypes(out: string): void {
  const work = join(out, "types-work");
  mkdirSync(work, { recursive: true });
  writeFileSync(join(work, "deno.d.ts"), "declare const Deno: any;\n");
  writeFileSync(
    join(work, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        target: "esnext",
        module: "nodenext",
        lib: ["esnext", "dom", "dom.iterable"],
        types: ["node"],
        typeRoots: [join(root, "node_modules/@types")],
        strict: true,
        exactOptionalPropertyTypes: true,
        verbatimModuleSyntax: true,
        skipLibCheck: true,
        declaration: true,
        emitDeclarationOnly: true,
        rewriteRelativeImportExtensions: true,
        rootDir: join(root, "src"),
        outDir: join(out, "types"),
      },
      files: ["deno.d.ts", join(root, "src/mod.ts")],
    }),
  );
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  succeed(useRuntime("bun").path, [tsc, "-p", join(work, "tsconfig.json")]);
  const types = join(out, "types");
  for (const name of readdirSync(types, { recursive: true }).map(String)) {
    if (!name.endsWith(".d.ts")) continue;
    const file = join(types, name);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replaceAll(/((?:from|import\()\s*"\.[^"]+)\.ts"/g, '$1.js"'));
  }
  rmSync(work, { recursive: true });
}

function writeManifest(out: string): void {
  const { name, version, description, license, type, keywords, repository } = manifest;
  const versionsOf = (names: string[]) =>
    Object.fromEntries(names.map((name) => [name, `^${manifest.dependencies[name]}`]));
  writeFileSync(
    join(out, "package.json"),
    `${
      JSON.stringify(
        {
          name,
          version,
          description,
          ...(keywords && { keywords }),
          ...(repository && { repository }),
          license,
          type,
          exports: {
            ".": { types: "./types/mod.d.ts", default: "./mod.js" },
            [`./${SCHEMA_FILE}`]: `./${SCHEMA_FILE}`,
          },
          bin: { parley: "./main.js" },
          engines: { node: ">=22.19" },
          dependencies: versionsOf(SHARED),
          optionalDependencies: versionsOf(NATIVE),
        },
        null,
        2,
      )
    }\n`,
  );
}
