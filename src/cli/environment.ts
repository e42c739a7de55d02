/** The environment of a command. The program, or a test, provides it. */
import type { OwnModules } from "../platform/own-modules.ts";
import type { OwnPackages } from "../platform/own-packages.ts";
import type { Listen } from "../platform/types.ts";
import type { Served } from "../tool/skill.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** The parts of a definition that a server prints when it starts. */
export type Announced = Pick<Served, "kind" | "name"> & { readonly description?: string };

export interface Environment {
  readonly version: string;
  readonly terminal: Terminal;
  /** Loads the definitions that are served when no module is named. */
  readonly shipped: () => Promise<readonly Served[]>;
  /** Names and descriptions of the shipped definitions. Only a compiled program has this list. */
  readonly announced?: readonly Announced[] | undefined;
  /** The modules of this program that tools may import by name. */
  readonly own: OwnModules;
  /** The packages that `parley new` copies into a project. */
  readonly packages: () => Promise<OwnPackages>;
  /** Starts the HTTP server of `parley serve`. Default: the HTTP server of this runtime. */
  readonly listen?: Listen;
}
