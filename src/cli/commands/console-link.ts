/** The console of a server that a command runs: its options, and the links that the terminal shows. */
import process from "node:process";
import type { Parley } from "../../parley.ts";
import type { ConsoleOptions } from "../../server/options.ts";
import { Problem, USAGE } from "../problem.ts";
import type { Terminal } from "../terminal/terminal.ts";

const MIN_TOKEN = 32;

export class ConsoleLinks {
  /** The option `console` of the server. */
  readonly options: ConsoleOptions;
  #next: () => Promise<void> = () => Promise.resolve();

  /** `shows` is false if the output is for programs: links are secrets, and do not belong in logs. */
  constructor(terminal: Terminal, readonly shows: boolean) {
    const token = process.env["PARLEY_CONSOLE_TOKEN"];
    if (token && token.length < MIN_TOKEN) {
      throw new Problem(
        `Cannot use PARLEY_CONSOLE_TOKEN: it is shorter than ${MIN_TOKEN} characters; generate a random one`,
        USAGE,
      );
    }
    this.options = {
      ...(token && { token }),
      onOpened: () => void this.#next().catch(() => {}),
    };
    this.#show = (url) => terminal.note(`The console is open. A link for another tab:\n  ${url}`);
  }

  readonly #show: (url: string) => void;

  /** The first link. Each time a link is used, the terminal shows the next one. */
  async first(parley: Parley, address: string): Promise<string | undefined> {
    if (!this.shows) return undefined;
    const link = async () => new URL(await parley.consoleLink(), address).href;
    this.#next = async () => this.#show(await link());
    return await link();
  }
}
