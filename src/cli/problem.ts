/** Exit codes, and errors that the person at the terminal can fix. */

/** Exit code: the flags or arguments are wrong, and nothing was done. */
export const USAGE = 2;
/** Exit code: the command failed. */
export const FAILED = 1;

/** An error that the person at the terminal can fix. Its message is one sentence; no stack is printed. */
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
