/** Reads the client's answers to a run's questions, and checks which questions a client supports. */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import { ProtocolError } from "../../model/errors.ts";
import type { ClientAnswer, ClientInfo, ToolSessionRequest } from "../../model/events.ts";
import { INVALID_PARAMS } from "../../model/rpc-codes.ts";
import type { Definition } from "../../tool/types.ts";
import { withoutError } from "../../wire/json-rpc.ts";
import { missingCapabilities } from "../run-target.ts";

/** Answers, each with the name of its question. */
export type Answers = readonly (readonly [name: string, response: ClientAnswer])[];

export function readAnswers(inputResponses: unknown): Answers {
  if (!isObject(inputResponses)) {
    throw new ProtocolError(
      INVALID_PARAMS,
      "Cannot accept the answers: inputResponses is not an object; send an object with one answer for each key",
    );
  }
  const answers: [string, ClientAnswer][] = [];
  for (const [name, answer] of Object.entries(inputResponses)) {
    // The modern era does not let a client answer with an error.
    const response = isObject(answer) ? withoutError(answer) : {};
    answers.push([name, response as unknown as ClientAnswer]);
  }
  return answers;
}

/** The capabilities that the open questions require but the client has not declared. */
export function undeclared(
  open: readonly ToolSessionRequest[],
  client: ClientInfo,
): JsonObject | undefined {
  let missing: JsonObject | undefined;
  for (const one of open) {
    const lacking = missingCapabilities(neededFor(one), client);
    if (lacking) missing = { ...missing, ...lacking };
  }
  return missing;
}

/** The capabilities that a question requires, in the form of a tool's `requires`. */
type Needed = Pick<Definition, "requires">;
const FORM: Needed = { requires: { elicitation: "form" } };
const PAGE: Needed = { requires: { elicitation: "url" } };
const SAMPLING: Needed = { requires: { sampling: true } };
const SAMPLING_WITH_TOOLS: Needed = { requires: { sampling: "tools" } };
const ROOTS: Needed = { requires: { roots: true } };

function neededFor(request: ToolSessionRequest): Needed {
  switch (request.type) {
    case "elicit_request":
      return request.params.mode === "form" ? FORM : PAGE;
    case "sample_request":
      return request.params.tools ? SAMPLING_WITH_TOOLS : SAMPLING;
    case "roots_request":
      return ROOTS;
  }
}
