/** What can go wrong at the terminal. */

/** The flags or arguments are wrong: nothing was tried. */
export const USAGE = 2;
/** It was tried, and did not work out. */
export const FAILED = 1;

/** Something that the person at the terminal can mend. One sentence, and no stack. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly exitCode: number;

  constructor(message: string, exitCode = FAILED) {
    super(message);
    this.exitCode = exitCode;
  }
}

export class Stopped extends Problem {
  constructor() {
    super("Stopped.", 130);
  }
}
