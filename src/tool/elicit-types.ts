/** The types of elicitations: the questions that a tool asks the person, and their results. */
import type { Operation } from "effection";
import type {
  JsonObject,
  McpMessage,
  ToolResultContent,
  ToolUseContent,
} from "../model/content.ts";
import type { AnswerVia, Door } from "../model/events.ts";
import type { Infer, Schema, SchemaInput } from "../schema/types.ts";

/** The question of an exchange, as a message of the assistant. */
export interface ElicitRequestMessage extends McpMessage {
  role: "assistant";
  content: [ToolUseContent];
}

/** The answer of an exchange, as a message of the user. */
export interface ElicitResponseMessage extends McpMessage {
  role: "user";
  content: [ToolResultContent];
}

/** An answered elicitation as messages, ready to be appended to a conversation. */
export interface ElicitExchange<TContext, TResponse> {
  /** The context that the tool passed with the question. The messages do not contain it. */
  readonly context: TContext;
  /** The question. */
  readonly request: ElicitRequestMessage;
  /** The answer. */
  readonly response: ElicitResponseMessage;
  /** `[request, response]`, without the context. */
  readonly messages: [ElicitRequestMessage, ElicitResponseMessage];
  /** Returns the messages with arguments that you derive from the context. */
  withArguments(
    fn: (context: TContext) => JsonObject,
  ): [ElicitRequestMessage, ElicitResponseMessage];
  /** Only for the type checker: the type of the answer. Always undefined at run time. */
  readonly answer?: TResponse;
}

/** The result of an elicitation: the person filled in the form, declined, or dismissed it. */
export type ElicitResult<TContext, TResponse> =
  | {
    readonly action: "accept";
    readonly content: TResponse;
    readonly exchange: ElicitExchange<TContext, TResponse>;
    /** How the answer came: through a form, an app, a page, the model, the terminal or an operator. */
    readonly via: AnswerVia;
    /** Milliseconds from the question to the answer. */
    readonly elapsed: number;
  }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

/** The result of an elicitation that timed out. The question is withdrawn. */
export interface ElicitTimeout {
  readonly action: "timeout";
}

/**
 * The result of an elicitation with a page. It says whether the person agreed to visit the page,
 * but not what they did there.
 */
export interface ElicitUrlResult {
  /** What the person did. */
  readonly action: "accept" | "decline" | "cancel";
  /** The id of this elicitation. A page can use it to report that it is done. */
  readonly elicitationId: string;
  /** Tells the client that the interaction on the page is complete. */
  complete(): Operation<void>;
}

/** The options of an elicitation. */
export interface ElicitOptions {
  /** Milliseconds after which the result is `{ action: "timeout" }`. Default: no timeout. */
  readonly timeout?: number;
}

/**
 * Options with a form for this question only. The form must allow less than the declared one, for
 * example only the seats that are free.
 */
export interface NarrowedElicitOptions<S extends SchemaInput = SchemaInput> extends ElicitOptions {
  /** The form for this question. It must allow less than the declared form. */
  readonly response: S;
}

/** `S` if the declared form allows every answer that `S` allows, or an error message as a type. */
export type Narrower<S, TAnswer> = Infer<S> extends TAnswer ? S
  : "this form accepts answers that the declared one does not";

/** A page that the person is asked to visit. */
export interface ElicitUrlConfig {
  /** Why the person should visit the page. */
  readonly message: string;
  /** The URL of the page. */
  readonly url: string | URL;
  /** The id of the elicitation, for a page that must know it. Default: a new id. */
  readonly elicitationId?: string;
}

/** A form that a tool declared. */
export interface ElicitForm {
  readonly key: string;
  readonly response: Schema<unknown>;
  readonly context: Schema<unknown> | undefined;
  readonly sensitive: readonly string[];
  /** Who may answer the question. */
  readonly by: AnsweredBy;
  /** The only doors at which the question may be asked. Default: all that `by` allows. */
  readonly doors?: readonly Door[];
}

/**
 * Who may answer a question: `anyone` (also the model, on behalf of the person), a `person`, or a
 * person who is `signed-in` as the caller.
 */
export type AnsweredBy = "anyone" | "person" | "signed-in";
