/** Generates the table of all flags from the definitions of the commands. */
import { Command, type Option } from "commander";
import { COMMANDS, type Workbench } from "../src/cli/command-table.ts";
import { SettingOption } from "../src/cli/server-flags.ts";

/** A placeholder, because the commands are only described here and never run. */
const NOTHING = {} as Workbench;

/** The commands of the program, with their flags and descriptions. */
export function describedCommands(): readonly Command[] {
  const program = new Command("parley");
  for (const add of Object.values(COMMANDS)) add(program, NOTHING);
  return program.commands;
}

/** A row for each flag of each command. */
export function flagsTable(): string {
  const rows = describedCommands().flatMap((command) =>
    command.options.filter(({ hidden }) => !hidden).map(rowOf(command))
  );
  return [
    "| command | flag | config key | variable | default | what it does |",
    "| --- | --- | --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}

function rowOf(command: Command): (option: Option) => string {
  return (option) => {
    const { flags, defaultValue, argChoices, description } = option;
    const { key, variable } = option instanceof SettingOption ? option : {};
    const choices = argChoices ? ` (${argChoices.map((one) => `\`${one}\``).join(", ")})` : "";
    const cells = [
      code(command.name()),
      code(flags),
      code(key),
      code(option.long === "--config" ? "PARLEY_CONFIG" : variable),
      code(defaultValue),
      `${description}${choices}`.replaceAll("|", "\\|").replaceAll("*", "\\*"),
    ];
    return `| ${cells.join(" | ")} |`;
  };
}

function code(value: unknown): string {
  return value === undefined ? "" : `\`${value}\``;
}
