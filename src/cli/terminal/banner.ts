/** The text that `parley serve` prints when it is ready. */
import { typedCommand } from "../../platform/self.ts";
import type { SamplingProvider } from "../../sampling/provider.ts";
import type { Announced } from "../environment.ts";
import type { Style } from "./style.ts";
import type { Terminal } from "./terminal.ts";

export interface BannerFacts {
  readonly address: string;
  readonly version: string;
  readonly announced: readonly Announced[];
  readonly provider: SamplingProvider | undefined;
  /** Who can call the server. */
  readonly reach: string;
  /** The link that opens the console. Undefined if the console is off. */
  readonly console?: string | undefined;
  readonly terminal: Terminal;
}

export function banner(facts: BannerFacts): string {
  const { address, version, announced, provider, reach, console, terminal } = facts;
  const { bold, cyan, dim } = terminal.err;
  const name = typedCommand();
  const model = provider
    ? `${provider.name} answers sampling requests that the client cannot answer`
    : undefined;
  return [
    `${bold(`Parley ${version}`)} serves ${counted(announced)} at ${cyan(address)}`,
    dim(reach),
    ...(model ? [dim(model)] : []),
    "",
    ...summaryLines(announced, terminal.err, terminal.columns("stderr")),
    "",
    ...(console
      ? ["Open the console, with a link that works once:", `  ${cyan(console)}`, ""]
      : []),
    "Connect a client:",
    `  ${name} call TOOL --url ${address}`,
    `  ${name} install claude-code --url ${address}`,
    dim("  (or vscode, cursor; in any other client, enter the URL)"),
    "",
    dim("Press Ctrl-C to stop."),
  ].join("\n");
}

/** Returns a text such as `2 tools and 1 prompt`. */
export function counted(definitions: readonly Pick<Announced, "kind">[]): string {
  const counts = (["tool", "prompt", "resource", "skill"] as const).flatMap((kind) => {
    const count = definitions.filter((definition) => definition.kind === kind).length;
    return count > 0 ? [`${count} ${kind}${count === 1 ? "" : "s"}`] : [];
  });
  return counts.length > 0 ? counts.join(" and ") : "nothing";
}

const MAX_NAME_WIDTH = 24;

export function summaryLines(
  announced: readonly Announced[],
  style: Style,
  columns: number,
): string[] {
  const names = announced.map(nameOf);
  const width = Math.min(MAX_NAME_WIDTH, Math.max(0, ...names.map((name) => name.length)));
  return announced.map(({ description = "" }, index) => {
    const name = names[index]!;
    const text = firstLine(description);
    const room = Math.max(10, columns - Math.max(width, name.length) - 4);
    return `  ${style.bold(name.padEnd(width))}  ${shortened(text, room)}`.trimEnd();
  });
}

function nameOf({ kind, name }: Announced): string {
  return kind === "tool" ? name : `${name} (${kind})`;
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0]!;
}

function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`;
}
