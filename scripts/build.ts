/**
 * Builds the package as npm gets it, into dist/npm: ES modules for Node and for
 * everybody else, types, and the program. Everything is inside but `effection` and
 * `zod`, which a tool and we must have in common.
 *
 *     deno task build
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { listFiles, readText, root } from "../tests/harness/files.ts";
import { installDependencies, useRuntime } from "../tests/harness/toolchain.ts";
import { thirdPartyText } from "./third-party.ts";

const OUT = "dist/npm";
/** What a tool and we must have in common. */
const SHARED = ["effection", "zod"];

const manifest = JSON.parse(readText("package.json"));

installDependencies();
rmSync(join(root, OUT), { recursive: true, force: true });
succeed(useRuntime("bun").path, [
  "build",
  "src/mod.ts",
  "src/main.ts",
  "--target=node",
  "--format=esm",
  "--splitting",
  "--sourcemap=none",
  `--outdir=${OUT}`,
  "--chunk-naming=chunks/[name]-[hash].[ext]",
  ...SHARED.flatMap((name) => ["--external", name, "--external", `${name}/*`]),
]);
writeProgram();
writeTypes();
writeManifest();
for (const file of ["README.md", "LICENSE"]) cpSync(join(root, file), join(root, OUT, file));
writeFileSync(join(root, OUT, "THIRD-PARTY.txt"), thirdPartyText(SHARED));
console.log(`${OUT} is ready to be published: npm publish ${OUT}`);

function succeed(path: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(path, args, { cwd: root, encoding: "utf8" });
  if (status === 0) return;
  console.error(`${stdout}${stderr}`);
  process.exit(1);
}

function writeProgram(): void {
  const file = join(root, OUT, "main.js");
  const text = readFileSync(file, "utf8").replace(/^#!.*\n|^\/\/ @bun.*\n/gm, "");
  writeFileSync(file, `#!/usr/bin/env node\n${text}`, { mode: 0o755 });
}

/** One declaration file for each source file, as TypeScript writes them. */
function writeTypes(): void {
  const work = join(root, "dist/types");
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
        outDir: join(root, OUT, "types"),
      },
      files: ["deno.d.ts", join(root, "src/mod.ts")],
    }),
  );
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  succeed(useRuntime("bun").path, [tsc, "-p", join(work, "tsconfig.json")]);
  for (const file of listFiles(`${OUT}/types`, ".d.ts")) {
    const text = readText(file).replaceAll(/((?:from|import\()\s*"\.[^"]+)\.ts"/g, '$1.js"');
    writeFileSync(join(root, file), text);
  }
  rmSync(work, { recursive: true });
}

function writeManifest(): void {
  const { name, version, description, license, type, keywords, repository } = manifest;
  const dependencies = Object.fromEntries(
    SHARED.map((shared) => [shared, `^${manifest.dependencies[shared]}`]),
  );
  writeFileSync(
    join(root, OUT, "package.json"),
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
          exports: { ".": { types: "./types/mod.d.ts", default: "./mod.js" } },
          bin: { parley: "./main.js" },
          engines: { node: ">=22.19" },
          dependencies,
        },
        null,
        2,
      )
    }\n`,
  );
  if (!existsSync(join(root, OUT, "mod.js"))) throw new Error(`Cannot find ${OUT}/mod.js`);
}
