// The types of the values that flags have, which follow from the table of flags. Checked, never run.
import type { ServeFlags, StdioFlags } from "../../src/cli/server-flags.ts";

export function flags(serve: ServeFlags, stdio: StdioFlags) {
  const port: number = serve.port;
  const state: "here" | "sealed" = serve.state;
  const hosts: readonly string[] | undefined = serve.allowHost;
  const legacy: boolean | undefined = serve.legacySse;
  const limits: { readonly [name: string]: number } | undefined = serve.limit;
  const level: string = stdio.logLevel;

  // @ts-expect-error - a flag without a default may be missing
  const store: string = serve.store;
  // @ts-expect-error - a choice is one of the listed texts
  const browser: "sometimes" = serve.browser;
  // @ts-expect-error - only parley serve has this flag
  const other = stdio.port;
  return { port, state, hosts, legacy, limits, level, store, browser, other };
}
