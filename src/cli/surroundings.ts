/** What the command line stands on, and is handed by whoever starts it. */
import type { OwnModules } from "../host/own-modules.ts";
import type { OwnPackages } from "../host/own-packages.ts";
import type { Definition } from "../tool/types.ts";
import type { Terminal } from "./terminal.ts";

export interface Surroundings {
  readonly version: string;
  readonly terminal: Terminal;
  /** What is served where no module is named. */
  readonly shipped: () => Promise<readonly Definition[]>;
  /** What modules may import by name. */
  readonly own: OwnModules;
  /** What a project needs that stands on its own. */
  readonly packages: () => Promise<OwnPackages>;
}
