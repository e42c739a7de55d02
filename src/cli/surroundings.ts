/** What the command line stands on, and is handed by whoever starts it. */
import type { OwnModules } from "../host/own-modules.ts";
import type { SamplingProvider } from "../sampling/provider.ts";
import type { Definition } from "../tool/types.ts";

export interface Surroundings {
  readonly version: string;
  /** What is served where no module is named. */
  readonly shipped: () => Promise<readonly Definition[]>;
  /** What modules may import by name. */
  readonly own: OwnModules;
  /** The model that the environment tells of, if it tells of one. */
  readonly provider: () => Promise<SamplingProvider | undefined>;
}
