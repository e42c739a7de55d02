/**
 * Which functions run, by V8's precise coverage of this process. Deno only: Bun's engine
 * is not V8.
 */
import { Session } from "node:inspector/promises";

/** A file and those of its functions that ran, in the order of the source. */
export interface Passed {
  /** URL of the file. */
  readonly url: string;
  /** Names of functions; empty for one without a name. */
  readonly functions: readonly string[];
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
}

export class Coverage {
  readonly #session = new Session();

  private constructor() {
    this.#session.connect();
  }

  static async start(): Promise<Coverage> {
    const coverage = new Coverage();
    await coverage.#session.post("Profiler.enable");
    await coverage.#session.post("Profiler.startPreciseCoverage", {
      callCount: true,
      detailed: false,
    });
    return coverage;
  }

  /** What ran since the last call, or since the start. A generator that goes on counts too. */
  async take(): Promise<readonly Passed[]> {
    const { result } = await this.#session.post("Profiler.takePreciseCoverage") as {
      result: readonly ScriptCoverage[];
    };
    return result.map(({ url, functions }) => ({
      url,
      functions: functions
        // What starts where the file starts is the module itself, which runs when it is loaded.
        .filter(({ ranges: [whole] }) => whole!.count > 0 && whole!.startOffset > 0)
        .map(({ functionName }) => functionName),
    })).filter(({ functions }) => functions.length > 0);
  }

  /** The rest of the process runs without being counted. */
  stop(): void {
    this.#session.disconnect();
  }
}
