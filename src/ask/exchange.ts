/**
 * Answered questions as messages.
 *
 * An exchange shows the flow of data, not what went over the wire: it is always
 * closed (every `tool_use` has its `tool_result`), so it can be appended to a
 * conversation as it is.
 */
import { type JsonObject, text } from "../model/content.ts";
import type { ElicitForm } from "./elicit.ts";
import { mask } from "./mask.ts";
import type {
  ElicitExchange,
  ElicitRequestMessage,
  ElicitResponseMessage,
} from "../tool/elicit-types.ts";

/** An answer as it is shown: sensitive fields are masked in it. */
export function shownAnswer({ sensitive }: ElicitForm, content: unknown): string {
  return JSON.stringify(sensitive.length > 0 ? mask(content as JsonObject, sensitive) : content);
}

/** The exchange of an accepted form, whose answer is shown like this. */
export function elicitExchange<TContext, TResponse>(
  { key }: ElicitForm,
  id: string,
  context: TContext,
  shown: string,
): ElicitExchange<TContext, TResponse> {
  const response: ElicitResponseMessage = {
    role: "user",
    content: [{
      type: "tool_result",
      toolUseId: id,
      content: [text(shown)],
    }],
  };
  const request = (input: JsonObject): ElicitRequestMessage => ({
    role: "assistant",
    content: [{ type: "tool_use", id, name: key, input }],
  });
  const bare = request({});
  return {
    context,
    request: bare,
    response,
    messages: [bare, response],
    withArguments: (fn) => [request(fn(context)), response],
  };
}
