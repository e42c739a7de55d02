/** Records which functions run in this process, with V8's precise coverage. Bun does not have V8. */
import { Session } from "node:inspector/promises";

/** A file, and the functions in it that ran, in the order of the source. */
export interface Passed {
  /** URL of the file. */
  readonly url: string;
  /** The names of the functions. The name of an anonymous function is empty. */
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

  /** Functions that ran since the last call of `take`, or since the start. Includes resumed generators. */
  async take(): Promise<readonly Passed[]> {
    const { result } = await this.#session.post("Profiler.takePreciseCoverage") as {
      result: readonly ScriptCoverage[];
    };
    return result.map(({ url, functions }) => ({
      url,
      functions: functions
        // Offset 0 is the module's own code, which runs on load.
        .filter(({ ranges: [whole] }) => whole!.count > 0 && whole!.startOffset > 0)
        .map(({ functionName }) => functionName),
    })).filter(({ functions }) => functions.length > 0);
  }

  /** Ends the recording. */
  stop(): void {
    this.#session.disconnect();
  }
}
