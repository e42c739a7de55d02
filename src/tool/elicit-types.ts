/** What a tool gets back when it asks the person. */
import type { Operation } from "effection";
import type {
  JsonObject,
  McpMessage,
  ToolResultContent,
  ToolUseContent,
} from "../model/content.ts";
import type { Infer, Schema, SchemaInput } from "../schema/types.ts";

/** The assistant's half of an answered elicitation. */
export interface ElicitRequestMessage extends McpMessage {
  role: "assistant";
  content: [ToolUseContent];
}

/** The person's half of an answered elicitation. */
export interface ElicitResponseMessage extends McpMessage {
  role: "user";
  content: [ToolResultContent];
}

/** An answered elicitation as messages, ready to be appended to a conversation. */
export interface ElicitExchange<TContext, TResponse> {
  /** What the tool passed beside the message. It stays here unless `withArguments` lets it out. */
  readonly context: TContext;
  readonly request: ElicitRequestMessage;
  readonly response: ElicitResponseMessage;
  /** `[request, response]`, with nothing of the context in them. */
  readonly messages: [ElicitRequestMessage, ElicitResponseMessage];
  /** The same messages with arguments that you derive from the context. */
  withArguments(
    fn: (context: TContext) => JsonObject,
  ): [ElicitRequestMessage, ElicitResponseMessage];
  /** Carries the answer's type; there is nothing here at run time. */
  readonly answer?: TResponse;
}

/** What the person did with a form. */
export type ElicitResult<TContext, TResponse> =
  | {
    readonly action: "accept";
    readonly content: TResponse;
    readonly exchange: ElicitExchange<TContext, TResponse>;
  }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

/** Nobody answered before the deadline. The question has been taken back. */
export interface ElicitTimeout {
  readonly action: "timeout";
}

/** Whether the person agreed to visit the page. What happens there is not told here. */
export interface ElicitUrlResult {
  readonly action: "accept" | "decline" | "cancel";
  /** Names this elicitation, also when the page reports that it is done. */
  readonly elicitationId: string;
  /** Tells the client that what the page was for has been done. */
  complete(): Operation<void>;
}

/** How long to wait for a person. */
export interface ElicitOptions {
  /** Milliseconds after which the answer is `{ action: "timeout" }`. */
  readonly timeout?: number;
}

/**
 * A form that offers less than the declared one, for one question: only the
 * seats that are free, only the moves that are left.
 */
export interface NarrowedElicitOptions<S extends SchemaInput = SchemaInput> extends ElicitOptions {
  readonly response: S;
}

/** The schema, if whatever it accepts is an answer that the declared form could give. */
export type Narrower<S, TAnswer> = Infer<S> extends TAnswer ? S
  : "this form accepts answers that the declared one does not";

/** A page for the person to visit. */
export interface ElicitUrlConfig {
  readonly message: string;
  readonly url: string | URL;
  /** An id of your own, for a page that must know it; made up otherwise. */
  readonly elicitationId?: string;
}

/** A form as the tool declared it. */
export interface ElicitForm {
  readonly key: string;
  readonly response: Schema<unknown>;
  readonly context: Schema<unknown> | undefined;
  readonly sensitive: readonly string[];
}
