/** What `parley serve` says when it is up. */
import type { SamplingProvider } from "../../sampling/provider.ts";
import { typedCommand } from "../../platform/self.ts";
import { summaryLines } from "../summary.ts";
import type { Announced } from "../environment.ts";
import type { Terminal } from "./terminal.ts";

export interface BannerFacts {
  readonly address: string;
  readonly version: string;
  readonly announced: readonly Announced[];
  readonly provider: SamplingProvider | undefined;
  readonly terminal: Terminal;
}

export function banner({ address, version, announced, provider, terminal }: BannerFacts): string {
  const { bold, cyan, dim } = terminal.err;
  const name = typedCommand();
  const model = provider ? `${provider.name} answers samples that the client cannot` : undefined;
  return [
    `${bold(`Parley ${version}`)} serves ${counted(announced)} at ${cyan(address)}`,
    ...(model ? [dim(model)] : []),
    "",
    ...summaryLines(announced, terminal.err, terminal.columns("stderr")),
    "",
    "Connect a client:",
    `  ${name} call TOOL --url ${address}`,
    `  ${name} install claude-code --url ${address}`,
    dim("  (or vscode, cursor; give any other one the address)"),
    "",
    dim("Ctrl-C stops it."),
  ].join("\n");
}

/** `2 tools and 1 prompt` */
export function counted(definitions: readonly Pick<Announced, "kind">[]): string {
  const counts = (["tool", "prompt", "resource"] as const).flatMap((kind) => {
    const count = definitions.filter((definition) => definition.kind === kind).length;
    return count > 0 ? [`${count} ${kind}${count === 1 ? "" : "s"}`] : [];
  });
  return counts.length > 0 ? counts.join(" and ") : "nothing";
}
