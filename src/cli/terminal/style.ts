/** Terminal colours. Off if the output is not a terminal, or NO_COLOR is set. */
import process from "node:process";

export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

export function styleFor(isTerminal: boolean, env: NodeJS.ProcessEnv = process.env): Style {
  // Any value of NO_COLOR turns colours off: https://no-color.org
  const coloured = isTerminal && !env.NO_COLOR && env.TERM !== "dumb";
  const paint = (open: number, close: number) => (text: string) =>
    coloured ? `\x1b[${open}m${text}\x1b[${close}m` : text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}
