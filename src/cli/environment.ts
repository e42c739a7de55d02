/** What the command line stands on, and is handed by whoever starts it. */
import type { OwnModules } from "../platform/own-modules.ts";
import type { OwnPackages } from "../platform/own-packages.ts";
import type { Listen } from "../platform/types.ts";
import type { Definition } from "../tool/types.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** As much of a tool, prompt or resource as a server says of it when it starts. */
export type Announced = Pick<Definition, "kind" | "name"> & { readonly description?: string };

export interface Environment {
  readonly version: string;
  readonly terminal: Terminal;
  /** What is served where no module is named. */
  readonly shipped: () => Promise<readonly Definition[]>;
  /** What is known of that without loading it; nothing unless this is an executable. */
  readonly announced?: readonly Announced[] | undefined;
  /** What modules may import by name. */
  readonly own: OwnModules;
  /** What a project needs that stands on its own. */
  readonly packages: () => Promise<OwnPackages>;
  /** How it listens for HTTP; the way of this runtime by default. */
  readonly listen?: Listen;
}
