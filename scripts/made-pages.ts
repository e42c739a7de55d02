/** The pages that are generated from the source, in whole or in part. */
import { sets } from "../tests/conformance/scenarios.ts";
import { readText } from "../tests/harness/files.ts";
import { apiPage, formatted, publicSymbols } from "./api-reference.ts";
import { flagsTable } from "./flags-reference.ts";
import { withBlock } from "./made-block.ts";

/** The current text of each page, by its path. */
export function madePages(): ReadonlyMap<string, string> {
  return new Map([
    ["docs/api.md", apiPage(publicSymbols())],
    ["docs/operation.md", withBlock(readText("docs/operation.md"), "flags", flagsTable())],
    ["docs/protocol.md", withBlock(readText("docs/protocol.md"), "scenarios", scenarios())],
  ].map(([path, text]) => [path!, formatted(text!)]));
}

function scenarios(): string {
  const rows = sets.map(({ name, scenarios }) =>
    `| ${name} | ${scenarios.length} | ${scenarios.map((one) => `\`${one}\``).join(", ")} |`
  );
  return ["| revision | passed | scenarios |", "| --- | --- | --- |", ...rows].join("\n");
}
