/** Generates the table of all flags from the definitions of the commands. */
import { Command, type Option } from "commander";
import { COMMANDS, type Workbench } from "../src/cli/command-table.ts";

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
    command.options.filter(({ hidden }) => !hidden).map(rowOf(command.name()))
  );
  return ["| command | flag | default | what it does |", "| --- | --- | --- | --- |", ...rows]
    .join("\n");
}

function rowOf(command: string): (option: Option) => string {
  return ({ flags, defaultValue, envVar, argChoices, description }) => {
    const usual = defaultValue === undefined ? "" : `\`${defaultValue}\``;
    const variable = envVar ? `\`${envVar}\`` : "";
    const choices = argChoices ? ` (${argChoices.map((one) => `\`${one}\``).join(", ")})` : "";
    const cells = [
      `\`${command}\``,
      `\`${flags}\``,
      [variable, usual].filter(Boolean).join(", or "),
      `${description}${choices}`.replaceAll("|", "\\|").replaceAll("*", "\\*"),
    ];
    return `| ${cells.join(" | ")} |`;
  };
}
