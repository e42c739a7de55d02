/** The pages and the schema that are generated from the source, in whole or in part. */
import { clientSets, EXTENSIONS } from "../tests/conformance/client-scenarios.ts";
import { protocolMarkdown } from "../tests/conformance/protocol-table.ts";
import { type ScenarioSet, sets } from "../tests/conformance/scenarios.ts";
import { readText } from "../tests/harness/files.ts";
import { apiPage, formatted, publicSymbols } from "./api-reference.ts";
import { configSchema, SCHEMA_FILE } from "./config-schema.ts";
import { flagsTable } from "./flags-reference.ts";
import { withBlock } from "./made-block.ts";

/** The current text of each page, by its path. */
export function madePages(): ReadonlyMap<string, string> {
  const pages = new Map([
    ["docs/api.md", apiPage(publicSymbols())],
    ["docs/operation.md", withBlock(readText("docs/operation.md"), "flags", flagsTable())],
    ["docs/protocol.md", withBlock(protocolPage(), "client-scenarios", clientScenarios())],
  ].map(([path, text]) => [path!, formatted(text!)]));
  return pages.set(SCHEMA_FILE, formatted(configSchema(), "json"));
}

function protocolPage(): string {
  const page = withBlock(readText("docs/protocol.md"), "protocol", protocolMarkdown());
  return withBlock(page, "scenarios", scenarios(sets));
}

function scenarios(sets: readonly ScenarioSet[]): string {
  const rows = sets.map(({ name, scenarios }) =>
    `| ${name} | ${scenarios.length} | ${codes(scenarios)} |`
  );
  return ["| revision | passed | scenarios |", "| --- | --- | --- |", ...rows].join("\n");
}

/** Those that pass, and those of extensions, which do not. */
function clientScenarios(): string {
  const others = Object.entries(EXTENSIONS).map(([one, why]) => `| \`${one}\` | ${why} |`);
  return [
    scenarios(clientSets),
    "",
    "| not supported | why |",
    "| --- | --- |",
    ...others,
  ].join("\n");
}

function codes(names: readonly string[]): string {
  return names.map((one) => `\`${one}\``).join(", ");
}
