/** What Commander says of a command line that it does not understand, in our grammar. */

type Words = readonly (string | undefined)[];

/** What it says, with the names in it, and how we say it. */
const SAYINGS: readonly (readonly [RegExp, (words: Words) => string])[] = [
  [/^unknown option '(.+)'$/, ([, flag]) => `use option "${flag}": there is none of that name`],
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
  [/^missing required argument '(.+)'$/, ([, name]) => `go on: the ${name} is missing`],
  [
    /^too many arguments for '(.+)'\. Expected (.+) but got (\d+)(?:: (.+))?$/,
    ([, name, expected, , given]) =>
      `run "${name}": it takes ${expected}${given ? `, and not ${given}` : ", and was given more"}`,
  ],
];

/** One sentence, without its end of line. */
export function usageProblem(said: string): string {
  const [first = "", guess] = said.trim().split("\n");
  const problem = first.replace(/^error: /, "").replace(/\.$/, "");
  const meant = guess?.match(/Did you mean (.+)\?/)?.[1];
  return `Cannot ${inOurWords(problem)}; ${
    meant ? `did you mean ${meant}?` : "--help tells what there is"
  }`;
}

function inOurWords(problem: string): string {
  for (const [saying, say] of SAYINGS) {
    const words = saying.exec(problem);
    if (words) return say(words);
  }
  return `go on: ${problem}`;
}

/** `--port` of `-p, --port <number>`. */
function longName(flags: string): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}

function rule(why: string): string {
  return why.replace(/^Allowed choices are (.+)$/, "it is one of $1").replace(
    /^\w/,
    (letter) => letter.toLowerCase(),
  );
}
