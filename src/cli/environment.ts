/** What the command line needs from the program or test that starts it. */
import type { OwnModules } from "../platform/own-modules.ts";
import type { OwnPackages } from "../platform/own-packages.ts";
import type { Listen } from "../platform/types.ts";
import type { Definition } from "../tool/types.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** The parts of a definition that a server prints when it starts. */
export type Announced = Pick<Definition, "kind" | "name"> & { readonly description?: string };

export interface Environment {
  readonly version: string;
  readonly terminal: Terminal;
  /** Loads the definitions that are served when no module is named. */
  readonly shipped: () => Promise<readonly Definition[]>;
  /** Their names and descriptions, known without loading them. Only a compiled program has this. */
  readonly announced?: readonly Announced[] | undefined;
  /** The modules of this program that tools may import by name. */
  readonly own: OwnModules;
  /** The packages that `parley new` copies into a project. */
  readonly packages: () => Promise<OwnPackages>;
  /** How `parley serve` listens for HTTP. Default: as this runtime does. */
  readonly listen?: Listen;
}
