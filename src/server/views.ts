/**
 * MCP Apps: which view a client shows for a tool, and the `ui://` resources that contain the views.
 * Views are not in the list of resources. Hosts find them through the tools that refer to them.
 */
import { until } from "effection";
import { canElicitForm } from "../ask/elicit.ts";
import { isObject } from "../lib/json.ts";
import type { JsonObject } from "../model/content.ts";
import type { ClientInfo } from "../model/events.ts";
import { createMcpResource } from "../tool/resource.ts";
import type { Definition, FinalizedMcpResource, FinalizedMcpTool } from "../tool/types.ts";
import type { McpToolView } from "../tool/view.ts";
import { askingView } from "../ui/view-html.ts";
import type { Catalog } from "./catalog.ts";
import type { ServerCore } from "./core.ts";

export const UI_EXTENSION = "io.modelcontextprotocol/ui";
export const VIEW_TYPE = "text/html;profile=mcp-app";

const SCHEME = "ui://";
const BASE = `${SCHEME}parley/`;
/** The view that asks the questions of any tool. */
export const ASKING_VIEW = `${BASE}ask.html`;

type Shown = Pick<FinalizedMcpTool, "name" | "elicits" | "view" | "visibility">;

/** True if a client can show views. */
export function canShowApps({ capabilities }: Pick<ClientInfo, "capabilities">): boolean {
  return isObject(capabilities.extensions?.[UI_EXTENSION]);
}

/**
 * The URI of the view that a client shows for calls of a tool. Clients with forms get no view for
 * questions, because they would show each question twice.
 */
export function viewOf(tool: Shown, client: ClientInfo): string | undefined {
  if (tool.elicits.size === 0) return tool.view && addressOf(tool);
  if (!canShowApps(client) || canElicitForm(client)) return undefined;
  return addressOf(tool);
}

/** True if the client shows a view for calls of a definition, in which a person can answer. */
export function mayShowView({ kind, elicits }: Definition, client: ClientInfo): boolean {
  return kind === "tool" && elicits.size > 0 && canShowApps(client) && !canElicitForm(client);
}

/** The URI of the view with which a client draws the form of a question (SEP-3118). */
export function formViewOf(
  tool: Pick<Definition, "name"> & Pick<FinalizedMcpTool, "view">,
  client: ClientInfo,
): string | undefined {
  const { elicitation, extensions } = client.capabilities;
  const ui = extensions?.[UI_EXTENSION];
  // Elsewhere, an empty `elicitation: {}` also means forms. Clients that draw forms with apps
  // declare `form`.
  if (!isObject(ui) || !isObject(ui.elicitation) || !isObject(elicitation?.form)) return undefined;
  if (!Array.isArray(ui.mimeTypes) || !ui.mimeTypes.includes(VIEW_TYPE)) return undefined;
  return addressOf(tool);
}

/** The `_meta` of a tool in a list. */
export function viewMeta(tool: Shown, client: ClientInfo): { _meta?: JsonObject } {
  const resourceUri = viewOf(tool, client);
  const { visibility } = tool;
  if (resourceUri === undefined && !visibility) return {};
  return {
    _meta: { ui: { ...(resourceUri && { resourceUri }), ...(visibility && { visibility }) } },
  };
}

/** True if only views may call a tool, and the model may not. */
export function isForApps({ visibility }: Pick<FinalizedMcpTool, "visibility">): boolean {
  return visibility !== undefined && !visibility.includes("model");
}

/** True if the list of tools can differ between clients. */
export function listsDiffer(catalog: Catalog): boolean {
  return [...catalog.tools.values()].some(({ elicits }) => elicits.size > 0);
}

/**
 * The capabilities that a server with views declares to a client that can show views. Tools that are
 * not loaded yet may have views.
 */
export function viewCapabilities(
  { catalog, arrival }: Pick<ServerCore, "catalog" | "arrival">,
  client: Pick<ClientInfo, "capabilities">,
): { resources?: object; extensions?: object } {
  if (!canShowApps(client)) return {};
  if (!hasViews(catalog) && !arrival?.kinds.includes("tool")) return {};
  return { resources: {}, extensions: { [UI_EXTENSION]: { elicitation: {} } } };
}

export function hasViews(catalog: Catalog): boolean {
  return [...catalog.tools.values()].some(({ elicits, view }) => elicits.size > 0 || view);
}

function addressOf({ name, view }: Pick<Shown, "name" | "view">): string {
  return view ? `${BASE}tools/${encodeURIComponent(name)}.html` : ASKING_VIEW;
}

const resources = new WeakMap<object, FinalizedMcpResource>();
/**
 * The view that asks questions. It is created on first use, because creating it would delay every
 * start.
 */
let asking: FinalizedMcpResource | undefined;

/** The view with this URI, as a resource. */
export function viewAt(catalog: Catalog, uri: string): FinalizedMcpResource | undefined {
  if (!uri.startsWith(BASE)) return undefined;
  if (uri === ASKING_VIEW) {
    if (!hasViews(catalog)) return undefined;
    return asking ??= viewResource(ASKING_VIEW, () => Promise.resolve({ html: askingView() }));
  }
  const [, encoded] = /\/tools\/([^/]+)\.html$/.exec(uri) ?? [];
  const tool = catalog.tools.get(decoded(encoded ?? ""));
  if (!tool?.view || addressOf(tool) !== uri) return undefined;
  let resource = resources.get(tool);
  if (!resource) {
    resource = { ...viewResource(uri, tool.view), ...(tool.scopes && { scopes: tool.scopes }) };
    resources.set(tool, resource);
  }
  return resource;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function viewResource(uri: string, load: () => Promise<McpToolView>): FinalizedMcpResource {
  return createMcpResource(uri).uri(uri).mimeType(VIEW_TYPE).read(function* () {
    const { html, csp = {}, permissions, domain, prefersBorder } = yield* until(load());
    const ui = {
      csp,
      ...(permissions && { permissions }),
      ...(domain !== undefined && { domain }),
      ...(prefersBorder !== undefined && { prefersBorder }),
    };
    return { uri, mimeType: VIEW_TYPE, text: html, _meta: { ui } };
  });
}
