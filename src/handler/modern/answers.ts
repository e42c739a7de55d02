/** What comes back for the questions of a run, and whom they can be put to. */
import type { JsonObject } from "../../content.ts";
import { ProtocolError } from "../../errors.ts";
import type { ClientInfo, Response, ToolSessionRequest } from "../../events.ts";
import { INVALID_PARAMS, isObject } from "../../protocol/json-rpc.ts";
import type { McpToolRequirements } from "../../tool/settings.ts";
import { missingCapabilities } from "../runs.ts";

/** Answers, by the names of their questions. */
export type Answers = readonly (readonly [name: string, response: Response])[];

export function readAnswers(inputResponses: unknown): Answers {
  if (!isObject(inputResponses)) {
    throw new ProtocolError(
      INVALID_PARAMS,
      "Cannot take the answers: inputResponses is no object; send one answer under each key",
    );
  }
  return Object.entries(inputResponses).map(([name, answer]) => [name, responseIn(answer)]);
}

/** Whatever an answer has by that name, it is no failure: this era has no way to tell of one. */
function responseIn(answer: unknown): Response {
  if (!isObject(answer)) return {} as Response;
  const { error: _error, ...response } = answer;
  return response as unknown as Response;
}

/** What the client of a request must declare to be asked these questions, and does not. */
export function undeclared(
  open: readonly ToolSessionRequest[],
  client: ClientInfo,
): JsonObject | undefined {
  const missing = open.map((one) => missingCapabilities({ requires: neededFor(one) }, client));
  return missing.some((one) => one) ? Object.assign({}, ...missing) : undefined;
}

function neededFor(request: ToolSessionRequest): McpToolRequirements {
  switch (request.type) {
    case "elicit_request":
      return { elicitation: request.params.mode };
    case "sample_request":
      return { sampling: request.params.tools ? "tools" : true };
    case "roots_request":
      return { roots: true };
  }
}
