/**
 * Shell completions. A script, loaded by the shell, calls `parley complete -- WORDS` for the words
 * up to the cursor. The answer has one line for each candidate, `VALUE<tab>DESCRIPTION`, and a last
 * line that tells the shell whether to offer file names.
 */
import type { Command, Option } from "commander";

const NO_FILES = ":4";
const FILES = ":0";

interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** Returns the answer for a completion script: the candidates for the last word. */
export function complete(program: Command, words: readonly string[]): string {
  const typed = joinedValues(words);
  const current = typed.at(-1) ?? "";
  const found = candidates(program, typed.slice(0, -1), current)
    .filter(({ value }) => value.startsWith(current))
    .map(({ value, description }) => `${value}\t${description}`);
  // A value that is not a choice may be a path, such as a module.
  const mayBeFile = found.length === 0 && !current.startsWith("-");
  return [...found, mayBeFile ? FILES : NO_FILES].join("\n");
}

/** Bash splits `--flag=value` into three words. Drops the `=`, which leaves `--flag value`. */
function joinedValues(words: readonly string[]): string[] {
  const typed = words.filter((word, index) => word !== "=" || !words[index - 1]?.startsWith("--"));
  if (words.at(-1) === "=" && typed.length < words.length) typed.push("");
  return typed;
}

function candidates(program: Command, before: readonly string[], current: string): Candidate[] {
  const { command, positionals, expects } = position(program, before);
  if (expects) return choices(expects.argChoices);
  if (current.startsWith("-")) return flags(command, current);
  if (command === program || command.name() === "help") return subcommands(program);
  const { registeredArguments: all } = command;
  const last = all.at(-1);
  return choices((all[positionals] ?? (last?.variadic ? last : undefined))?.argChoices);
}

interface Position {
  /** The command that the words belong to: the program itself until a command is named. */
  readonly command: Command;
  /** How many arguments of the command are given. */
  readonly positionals: number;
  /** The flag whose value comes next. */
  readonly expects: Option | undefined;
}

function position(program: Command, before: readonly string[]): Position {
  let command = program;
  let positionals = 0;
  let expects: Option | undefined;
  for (const word of before) {
    if (expects) expects = undefined;
    else if (word.startsWith("-")) expects = flagWithValue(command, word);
    else if (command !== program) positionals++;
    else {
      const named = visibleCommands(program).find((one) => one.name() === word);
      if (named) command = named;
    }
  }
  return { command, positionals, expects };
}

function flagWithValue(command: Command, word: string): Option | undefined {
  const option = command.options.find(({ long, short }) => word === long || word === short);
  return option?.required || option?.optional ? option : undefined;
}

function flags(command: Command, current: string): Candidate[] {
  const [name, value] = current.split("=", 2);
  if (value !== undefined) {
    return choices(flagWithValue(command, name!)?.argChoices, `${name}=`);
  }
  return command.createHelp().visibleOptions(command).flatMap(({ long, short, description }) =>
    [short, long].filter((flag) => flag !== undefined && (flag === long || /^-\w?$/.test(current)))
      .map((flag) => ({ value: flag!, description }))
  );
}

function subcommands(program: Command): Candidate[] {
  return visibleCommands(program).map((command) => ({
    value: command.name(),
    description: command.summary() || command.description(),
  }));
}

function visibleCommands(program: Command): Command[] {
  return program.createHelp().visibleCommands(program);
}

function choices(values: readonly string[] = [], prefix = ""): Candidate[] {
  return values.map((value) => ({ value: `${prefix}${value}`, description: "" }));
}

/** The script for each shell. */
export const SCRIPTS: { readonly [shell: string]: string } = {
  bash: `# bash completion for parley
_parley() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      ${FILES}) ;;
      ${NO_FILES}) compopt +o default 2>/dev/null ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <(parley complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _parley parley`,

  zsh: `#compdef parley
# zsh completion for parley
_parley() {
  local line files=0
  local -a found
  while IFS= read -r line; do
    case "$line" in
      ${FILES}) files=1 ;;
      ${NO_FILES}) ;;
      *)
        line="\${line%$'\\t'}"
        line="\${line//:/\\\\:}"
        found+=("\${line/$'\\t'/:}")
        ;;
    esac
  done < <(parley complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( files )); then _files; else _describe 'parley' found; fi
}
if [ "$funcstack[1]" = "_parley" ]; then _parley "$@"; else compdef _parley parley; fi`,

  fish: `# fish completion for parley
function __parley_complete
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  for line in (parley complete -- $before[2..-1] "$current" 2>/dev/null)
    switch $line
      case '${FILES}'
        __fish_complete_path "$current"
      case '${NO_FILES}'
      case '*'
        printf '%s\\n' $line
    end
  end
end
complete -c parley -f -a '(__parley_complete)'`,

  powershell: `# PowerShell completion for parley
Register-ArgumentCompleter -Native -CommandName parley -ScriptBlock {
  param($current, $line, $cursor)
  $words = @($line.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.StartOffset -lt $cursor } | ForEach-Object { $_.Extent.Text })
  if ($current -eq '') {
    # Before 7.3, PowerShell drops an empty argument unless it is quoted.
    $words += if ($PSVersionTable.PSVersion -lt [version]'7.3') { '""' } else { '' }
  }
  foreach ($found in (& parley complete -- @words 2>$null)) {
    if ($found.StartsWith(':')) { continue }
    $value, $description = $found -split "\`t", 2
    if (-not $description) { $description = $value }
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $description)
  }
}`,
};
