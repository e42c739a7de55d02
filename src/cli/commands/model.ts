/** The model that environment variables configure. It answers samples that the client cannot answer. */
import process from "node:process";
import { messageOf } from "../../lib/message-of.ts";
import type { SamplingSetup } from "../../run/run-port.ts";
import { samplingFromEnvironment } from "../../sampling/config.ts";
import type { SamplingProvider } from "../../sampling/provider.ts";
import { Problem } from "../problem.ts";

export function ownModel(): SamplingProvider | undefined {
  try {
    return samplingFromEnvironment(process.env);
  } catch (error) {
    throw new Problem(messageOf(error));
  }
}

export function samplingSetup(): SamplingSetup {
  const provider = ownModel();
  return provider ? { provider } : {};
}
