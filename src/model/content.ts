/**
 * Content blocks and messages, in one form from the wire to the author's conversation. These are
 * MCP's own types, so they are sent without conversion.
 */

/** Any JSON object. */
export type JsonObject = { [key: string]: unknown };

/** Who a piece of content is meant for, and how much it matters. */
export interface ContentAnnotations {
  audience?: ("user" | "assistant")[];
  priority?: number;
  lastModified?: string;
}

interface BlockBase {
  annotations?: ContentAnnotations;
  _meta?: JsonObject;
}

/** Plain text. */
export interface TextContent extends BlockBase {
  type: "text";
  text: string;
}

/** An image, base64-encoded. */
export interface ImageContent extends BlockBase {
  type: "image";
  data: string;
  mimeType: string;
}

/** A sound, base64-encoded. */
export interface AudioContent extends BlockBase {
  type: "audio";
  data: string;
  mimeType: string;
}

/** The contents of a resource: text, or base64 in `blob`. */
export type ResourceContents =
  & { uri: string; mimeType?: string; _meta?: JsonObject }
  & ({ text: string } | { blob: string });

/** A resource carried inside a result or a prompt. */
export interface EmbeddedResource extends BlockBase {
  type: "resource";
  resource: ResourceContents;
}

/** A pointer to a resource that the client may read. */
export interface ResourceLink extends BlockBase {
  type: "resource_link";
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
  icons?: Icon[];
}

/** A picture that stands for a tool, a prompt, a resource or a server. */
export interface Icon {
  src: string;
  mimeType?: string;
  sizes?: string[];
  theme?: "light" | "dark";
}

/** The assistant asks for a tool to be called. */
export interface ToolUseContent {
  type: "tool_use";
  id: string;
  name: string;
  input: JsonObject;
  _meta?: JsonObject;
}

/** What a tool call gave back; `toolUseId` names the call. */
export interface ToolResultContent {
  type: "tool_result";
  toolUseId: string;
  content: ContentBlock[];
  structuredContent?: JsonObject;
  isError?: boolean;
  _meta?: JsonObject;
}

/** What a tool result or a prompt message may contain. */
export type ContentBlock =
  | TextContent
  | ImageContent
  | AudioContent
  | ResourceLink
  | EmbeddedResource;

/** What a message of a conversation with a model may contain. */
export type MessageContent =
  | TextContent
  | ImageContent
  | AudioContent
  | ToolUseContent
  | ToolResultContent;

/** One message of a conversation, its content always a list of blocks. */
export interface McpMessage {
  role: "user" | "assistant";
  content: MessageContent[];
}

/**
 * A message as authors and clients may write it: a string or a single block
 * stands for a list of one. `normalizeMessage` turns it into an `McpMessage`.
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

/** The inverse of `normalizeMessage`, for sending: a list of one block becomes the block. */
export function compactMessage({ role, content }: McpMessage): object {
  return { role, content: content.length === 1 ? content[0] : content };
}

/** Returns the text blocks of a message, joined. */
export function textOf(message: McpMessage): string {
  let joined = "";
  for (const block of message.content) if (block.type === "text") joined += block.text;
  return joined;
}
