/**
 * The model that flags or environment variables configure. It answers sampling requests that the
 * client cannot answer.
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { messageOf } from "../../lib/message-of.ts";
import type { SamplingSetup } from "../../run/run-port.ts";
import { samplingFromEnvironment } from "../../sampling/config.ts";
import type { SamplingProvider } from "../../sampling/provider.ts";
import { Problem } from "../problem.ts";

export interface ModelFlags {
  /** The provider and the name of the model. */
  readonly model?: string | undefined;
  readonly modelUrl?: string | undefined;
  readonly modelKeyFile?: string | undefined;
}

export function ownModel(
  { model, modelUrl, modelKeyFile }: ModelFlags,
  env: { readonly [name: string]: string | undefined } = process.env,
): SamplingProvider | undefined {
  const key = modelKeyFile === undefined ? undefined : keyIn(modelKeyFile);
  try {
    return samplingFromEnvironment({
      ...env,
      ...(model !== undefined && { PARLEY_MODEL: model }),
      ...(modelUrl !== undefined && { PARLEY_MODEL_URL: modelUrl }),
      ...(key !== undefined && { PARLEY_MODEL_KEY: key }),
    });
  } catch (error) {
    throw new Problem(messageOf(error));
  }
}

function keyIn(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new Problem(`Cannot read the model's key: ${messageOf(error)}; check --model-key-file`);
  }
}

export function samplingSetup(flags: ModelFlags): SamplingSetup {
  const provider = ownModel(flags);
  return provider ? { provider } : {};
}
