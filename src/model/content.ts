/**
 * Content blocks and messages. Tools, sessions and the wire all use these types. They are the types
 * of MCP, so messages are sent without conversion.
 */

/** Any JSON object. */
export type JsonObject = { [key: string]: unknown };

/** Annotations of a content block: its audience, its priority, and when it was last modified. */
export interface ContentAnnotations {
  audience?: ("user" | "assistant")[];
  priority?: number;
  lastModified?: string;
}

/** The properties that all content blocks have in common. */
export interface ContentBlockBase {
  annotations?: ContentAnnotations;
  _meta?: JsonObject;
}

/** Plain text. */
export interface TextContent extends ContentBlockBase {
  type: "text";
  text: string;
}

/** An image. `data` is base64. */
export interface ImageContent extends ContentBlockBase {
  type: "image";
  data: string;
  mimeType: string;
}

/** An audio clip. `data` is base64. */
export interface AudioContent extends ContentBlockBase {
  type: "audio";
  data: string;
  mimeType: string;
}

/** The contents of a resource: text, or base64 in `blob`. */
export type ResourceContents =
  & { uri: string; mimeType?: string; _meta?: JsonObject }
  & ({ text: string } | { blob: string });

/** A resource that is embedded in a result or a prompt. */
export interface EmbeddedResource extends ContentBlockBase {
  type: "resource";
  resource: ResourceContents;
}

/** A link to a resource that the client can read. */
export interface ResourceLink extends ContentBlockBase {
  type: "resource_link";
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
  icons?: Icon[];
}

/** An icon of a tool, a prompt, a resource or a server. */
export interface Icon {
  src: string;
  mimeType?: string;
  sizes?: string[];
  theme?: "light" | "dark";
}

/** A tool call that the assistant requests. */
export interface ToolUseContent {
  type: "tool_use";
  id: string;
  name: string;
  input: JsonObject;
  _meta?: JsonObject;
}

/** The result of a tool call. `toolUseId` is the id of the call. */
export interface ToolResultContent {
  type: "tool_result";
  toolUseId: string;
  content: ContentBlock[];
  structuredContent?: JsonObject;
  isError?: boolean;
  _meta?: JsonObject;
}

/** A content block of a tool result or a prompt message. */
export type ContentBlock =
  | TextContent
  | ImageContent
  | AudioContent
  | ResourceLink
  | EmbeddedResource;

/** A content block of a message in a conversation with a model. */
export type MessageContent =
  | TextContent
  | ImageContent
  | AudioContent
  | ToolUseContent
  | ToolResultContent;

/** A message of a conversation. Its content is always a list of blocks. */
export interface McpMessage {
  role: "user" | "assistant";
  content: MessageContent[];
}

/**
 * A message as authors and clients may write it. Its content may be a string or a single block
 * instead of a list. `normalizeMessage` converts it to an `McpMessage`.
 */
export interface McpMessageInput {
  role: "user" | "assistant";
  content: string | MessageContent | readonly MessageContent[];
}

/** Returns a text block. */
export function text(value: string): TextContent {
  return { type: "text", text: value };
}

/** Returns the message with its content as a list of blocks. */
export function normalizeMessage(message: McpMessageInput): McpMessage {
  const { role, content } = message;
  if (typeof content === "string") return { role, content: [text(content)] };
  if (Array.isArray(content)) return { role, content: content.slice() };
  return { role, content: [content as MessageContent] };
}

/**
 * Returns the message in its short form, for sending: a list of one block is replaced by that
 * block.
 */
export function compactMessage({ role, content }: McpMessage): object {
  return { role, content: content.length === 1 ? content[0] : content };
}

/** Returns the text of all text blocks of a message, concatenated. */
export function textOf(message: McpMessage): string {
  let joined = "";
  for (const block of message.content) if (block.type === "text") joined += block.text;
  return joined;
}
