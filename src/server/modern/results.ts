/** What the modern era answers, as text. */
import type { JsonObject } from "../../model/content.ts";
import type { CallResult, ToolSessionOutcome, ToolSessionRequest } from "../../model/events.ts";
import { INTERNAL_ERROR } from "../../model/rpc-codes.ts";
import { errorText, rawResultText, type RpcId } from "../../wire/json-rpc.ts";
import {
  type Caching,
  completeResultText,
  inputRequestsText,
  serverMetaText,
} from "../../wire/modern/encode.ts";
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
      return completeText(core, id, outcome.result, caching);
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
  return rawResultText(
    id,
    `{"resultType":"input_required","inputRequests":${inputRequestsText(open)},` +
      `"requestState":"${requestState}","_meta":${serverMetaText(core.info)}}`,
  );
}

export function completeText(
  core: ServerCore,
  id: RpcId,
  result: CallResult | JsonObject,
  caching?: Caching,
): string {
  return rawResultText(id, completeResultText(result, core.info, caching));
}
