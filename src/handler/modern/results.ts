/** What the modern era answers, as text. */
import type { JsonObject } from "../../content.ts";
import type { ToolSessionOutcome, ToolSessionRequest } from "../../events.ts";
import { errorText, INTERNAL_ERROR, resultText, type RpcId } from "../../protocol/json-rpc.ts";
import { type Caching, completeResult, inputRequests } from "../../protocol/modern/encode.ts";
import { SERVER_INFO } from "../../protocol/modern/meta.ts";
import type { ServerCore } from "../core.ts";

/** The answer to a call that has ended. */
export function outcomeText(
  core: ServerCore,
  id: RpcId,
  outcome: ToolSessionOutcome,
  caching?: Caching,
): string {
  switch (outcome.status) {
    case "completed":
      return resultText(id, completeResult(outcome.result, core.info, caching));
    case "failed":
      return errorText(id, outcome.error);
    case "cancelled":
      return errorText(id, {
        code: INTERNAL_ERROR,
        message: `Cannot finish the call: ${outcome.reason}; call again`,
      });
  }
}

/** The answer to a call that has stopped to ask. */
export function inputRequiredText(
  core: ServerCore,
  id: RpcId,
  open: readonly ToolSessionRequest[],
  requestState: string,
): string {
  return resultText(id, {
    resultType: "input_required",
    inputRequests: inputRequests(open),
    requestState,
    _meta: { [SERVER_INFO]: core.info },
  });
}

export function completeText(
  core: ServerCore,
  id: RpcId,
  result: JsonObject,
  caching?: Caching,
): string {
  return resultText(id, completeResult(result, core.info, caching));
}
