/** Rewrites Commander's error messages in the form of Parley's own messages. */

type Words = readonly (string | undefined)[];

/**
 * Patterns of Commander's messages. For each, a function returns the words that follow "Cannot".
 */
const SAYINGS: readonly (readonly [RegExp, (words: Words) => string])[] = [
  [/^unknown option '(.+)'$/, ([, flag]) => `use option "${flag}": there is no such option`],
  [/^unknown command '(.+)'$/, ([, name]) => `run "${name}": there is no such command`],
  [
    /^option '(.+)' argument '(.*)' is invalid\. (.+)$/,
    ([, flag, value, why]) => `use "${value}" for ${longName(flag!)}: ${rule(why!)}`,
  ],
  [
    /^option '(.+)' value '(.*)' from env '(.+)' is invalid\. (.+)$/,
    ([, flag, value, name, why]) =>
      `use "${value}" of ${name} for ${longName(flag!)}: ${rule(why!)}`,
  ],
  [
    /^command-argument value '(.*)' is invalid for argument '(.+)'\. (.+)$/,
    ([, value, name, why]) => `use "${value}" as the ${name}: ${rule(why!)}`,
  ],
  [
    /^option '(.+)' argument missing$/,
    ([, flag]) => `use ${longName(flag!)}: its value is missing`,
  ],
  [
    /^missing required argument '(.+)'$/,
    ([, name]) => `run the command: the argument <${name}> is missing`,
  ],
  [
    /^too many arguments for '(.+)'\. Expected (.+) but got (\d+)(?:: (.+))?$/,
    ([, name, expected, , given]) =>
      `run "${name}": it takes ${expected}${given ? `, not ${given}` : ", but got more"}`,
  ],
];

/** Rewrites one message of Commander as a sentence without a line break. */
export function usageProblem(said: string): string {
  const [first = "", guess] = said.trim().split("\n");
  const problem = first.replace(/^error: /, "").replace(/\.$/, "");
  const meant = guess?.match(/Did you mean (.+)\?/)?.[1];
  return `Cannot ${inOurWords(problem)}; ${meant ? `did you mean ${meant}?` : "see --help"}`;
}

function inOurWords(problem: string): string {
  for (const [saying, say] of SAYINGS) {
    const words = saying.exec(problem);
    if (words) return say(words);
  }
  return `continue: ${problem}`;
}

/** Returns `--port` for `-p, --port <number>`. */
function longName(flags: string): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}

/** The rule in a message of Commander, as part of a sentence. */
export function rule(why: string): string {
  return why.replace(/^Allowed choices are (.+)$/, "it must be one of $1").replace(
    /^\w/,
    (letter) => letter.toLowerCase(),
  );
}
