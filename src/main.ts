/** The entry point of the `parley` executable. */
import process from "node:process";
import manifest from "../package.json" with { type: "json" };
import { runCommandLine } from "./cli/program.ts";
import type { Announced } from "./cli/environment.ts";
import { Terminal } from "./cli/terminal/terminal.ts";
import type { OwnModules } from "./platform/own-modules.ts";
import { shipped } from "./shipped.ts";

/** Defined by `scripts/compile.ts` when it builds an executable. */
declare const PARLEY_ANNOUNCED: readonly Announced[];

/**
 * The modules of this program that tools may import. Each `import()` is written out, because a
 * compiler includes only modules that it finds as literals.
 */
const own: OwnModules = {
  "parley-mcp": {
    url: () => import.meta.resolve("parley-mcp"),
    load: () => import("./mod.ts"),
  },
  "effection": {
    url: () => import.meta.resolve("effection"),
    load: () => import("effection"),
  },
  "zod": {
    url: () => import.meta.resolve("zod"),
    load: () => import("zod"),
  },
  "zod/v4": {
    url: () => import.meta.resolve("zod/v4"),
    load: () => import("zod/v4"),
  },
  "zod/v3": {
    url: () => import.meta.resolve("zod/v3"),
    load: () => import("zod/v3"),
  },
};

process.exit(
  await runCommandLine(process.argv.slice(2), {
    version: manifest.version,
    terminal: new Terminal(),
    shipped,
    announced: typeof PARLEY_ANNOUNCED === "undefined" ? undefined : PARLEY_ANNOUNCED,
    own,
    packages: async () => {
      const { ownPackages } = await import("./platform/own-packages.ts");
      return await ownPackages(manifest.name, own["parley-mcp"]!.url);
    },
  }),
);
