/** The flags that say how tools ask: `--doors`, `--ask-wait`, `--ask-patience`, and others. */
import assert from "node:assert/strict";
import { Command } from "commander";
import { COMMANDS, type Workbench } from "../../src/cli/command-table.ts";
import { type AskFlags, askOptions } from "../../src/cli/commands/asking.ts";
import { describe, it } from "../suite.ts";

/** What a command reads from its command line. It is not run. */
function flagsOf(command: string, ...args: readonly string[]): AskFlags {
  const program = new Command();
  COMMANDS[command]!(program, {} as Workbench);
  const [found] = program.commands as [Command];
  let flags: AskFlags | undefined;
  found.exitOverride().configureOutput({ writeErr: () => {} }).action((_modules, options) => {
    flags = options;
  });
  program.parse([command, ...args], { from: "user" });
  return flags!;
}

for (const command of ["serve", "stdio"]) {
  describe(`the flags of parley ${command} about questions`, () => {
    it("allow all doors, wait 20 seconds and open a browser on a desktop by default", () => {
      const { doors, askWait, askPatience, sampling, openBrowser } = askOptions(flagsOf(command));
      assert.deepEqual([doors, askWait, askPatience], [undefined, 20_000, undefined]);
      assert.equal(sampling?.byCaller, undefined);
      assert.ok(openBrowser);
    });

    it("set the options of the server", () => {
      const flags = flagsOf(
        command,
        ...["--doors", "form, page", "--doors", "model", "--ask-wait", "0.5"],
        ...["--ask-patience", "90", "--browser", "never", "--model-by-caller"],
      );
      const { doors, askWait, askPatience, sampling, openBrowser, canOpenBrowser } = askOptions(
        flags,
      );
      assert.deepEqual(doors, ["form", "page", "model"]);
      assert.deepEqual([askWait, askPatience], [500, 90_000]);
      assert.equal(sampling?.byCaller, true);
      assert.deepEqual([openBrowser, canOpenBrowser], [undefined, undefined]);
    });

    const mistakes: [string, string][] = [
      ["--doors", "from"],
      ["--doors", "form,"],
      ["--doors", "FORM"],
      ["--doors", "terminal"],
      ["--doors", ""],
      ["--ask-wait", "soon"],
      ["--ask-wait", "-1"],
      ["--ask-wait", "3601"],
      ["--ask-wait", "1e3"],
      ["--ask-wait", ""],
      ["--ask-patience", "Infinity"],
      ["--ask-patience", "-0.5"],
      ["--browser", "sometimes"],
      ["--browser", ""],
    ];
    for (const [flag, value] of mistakes) {
      it(`refuse ${flag} "${value}"`, () => {
        const refused = (error: unknown) =>
          (error as { code?: string }).code === "commander.invalidArgument";
        assert.throws(() => flagsOf(command, flag, value), refused);
      });
    }

    it("refuse a value for --model-by-caller", () => {
      assert.throws(
        () => flagsOf(command, "--model-by-caller=yes"),
        (error: { code?: string }) => error.code === "commander.unknownOption",
      );
    });
  });
}
