/** The flags that decide how tools ask people and models. */
import type { SamplingSetup } from "../../run/run-port.ts";
import type { ParleyOptions } from "../../server/options.ts";
import { pageOpener } from "../terminal/browser.ts";
import type { StdioFlags } from "../server-flags.ts";
import { samplingSetup } from "./model.ts";

export type AskFlags = Pick<StdioFlags, "askWait" | "browser"> & Partial<StdioFlags>;

/** The options of a server that these flags set. */
export function askOptions(
  flags: AskFlags,
): Pick<
  ParleyOptions,
  "doors" | "askWait" | "askPatience" | "openBrowser" | "canOpenBrowser" | "sampling"
> {
  const { doors, askWait, askPatience, browser } = flags;
  return {
    ...(doors && { doors }),
    askWait: askWait * 1_000,
    ...(askPatience !== undefined && { askPatience: askPatience * 1_000 }),
    ...(browser !== "never" && pageOpener(browser)),
    sampling: samplingFlags(flags),
  };
}

function samplingFlags(flags: AskFlags): SamplingSetup {
  const { modelByCaller } = flags;
  return { ...samplingSetup(flags), ...(modelByCaller && { byCaller: true }) };
}
