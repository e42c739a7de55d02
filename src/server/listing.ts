/** Tools, prompts and resources as they appear in lists. Both eras use the same format. */
import type { JsonObject } from "../model/content.ts";
import type { ClientInfo } from "../model/events.ts";
import { mayDefer, withWaiting } from "./doors/deferral.ts";
import type {
  FinalizedMcpPrompt,
  FinalizedMcpResource,
  FinalizedMcpTool,
  ListedResource,
} from "../tool/types.ts";
import { viewMeta } from "./views.ts";

/** A tool in the list for a client. Without a client, only the parts that all clients see. */
export function listedTool(tool: FinalizedMcpTool, client: ClientInfo = NOBODY): object {
  return {
    name: tool.name,
    ...(tool.title !== undefined && { title: tool.title }),
    description: tool.description,
    inputSchema: tool.parameters.json,
    ...(tool.output && {
      outputSchema: mayDefer(tool) ? withWaiting(tool.output.json) : tool.output.json,
    }),
    ...(tool.annotations && { annotations: tool.annotations }),
    ...(tool.icons && { icons: tool.icons }),
    ...metaOf(tool, client),
  };
}

/** The `_meta` of the author, and that of the tool's view. */
function metaOf(tool: FinalizedMcpTool, client: ClientInfo): { _meta?: JsonObject } {
  const view = viewMeta(tool, client);
  return tool.meta ? { _meta: { ...tool.meta, ...view._meta } } : view;
}

const NOBODY: ClientInfo = { protocolVersion: "", capabilities: {} };

export function listedPrompt(prompt: FinalizedMcpPrompt): object {
  return {
    name: prompt.name,
    ...(prompt.title !== undefined && { title: prompt.title }),
    description: prompt.description,
    ...(prompt.arguments.length > 0 && { arguments: prompt.arguments }),
    ...(prompt.icons && { icons: prompt.icons }),
    ...(prompt.meta && { _meta: prompt.meta }),
  };
}

export function listedResource(resource: FinalizedMcpResource): ListedResource {
  const { size } = resource;
  return { uri: resource.uri.text, ...described(resource), ...(size !== undefined && { size }) };
}

export function listedTemplate(resource: FinalizedMcpResource): object {
  return { uriTemplate: resource.uri.text, ...described(resource) };
}

function described(resource: FinalizedMcpResource) {
  const { name, title, description, mimeType, annotations, icons, meta } = resource;
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(mimeType !== undefined && { mimeType }),
    ...(annotations && { annotations }),
    ...(icons && { icons }),
    ...(meta && { _meta: meta }),
  };
}
