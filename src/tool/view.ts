/** Views: HTML documents that hosts with MCP Apps show for the calls of a tool. */
import { DefinitionError } from "../model/errors.ts";

/** Who may call a tool: the model, the views of this server, or both. */
export type ToolVisibility = "model" | "app";

/**
 * The origins that a view may use. Default: none, so the view can neither load nor contact
 * anything.
 */
export interface ViewSources {
  /** Origins to which the view may connect, with `fetch` or WebSockets. */
  readonly connectDomains?: readonly string[];
  /** Origins of scripts, styles, images and fonts. */
  readonly resourceDomains?: readonly string[];
  /** Origins of nested frames. */
  readonly frameDomains?: readonly string[];
  /** Origins of the document's base URI. */
  readonly baseUriDomains?: readonly string[];
}

/** A view, and what it needs from the host. */
export interface McpToolView {
  /** The whole HTML document. */
  readonly html: string;
  /** Origins that the view may use. Default: none. */
  readonly csp?: ViewSources;
  /** Permissions that the view asks for, such as `{ camera: {} }`. Default: none. */
  readonly permissions?: {
    readonly camera?: Record<never, never>;
    readonly microphone?: Record<never, never>;
    readonly geolocation?: Record<never, never>;
    readonly clipboardWrite?: Record<never, never>;
  };
  /** A dedicated origin for the view, in the format of the host. Default: the host decides. */
  readonly domain?: string;
  /** Whether the host should draw a border around the view. Default: the host decides. */
  readonly prefersBorder?: boolean;
}

/** A view as an author gives it: HTML, HTML with options, or a module that is loaded on first use. */
export type ViewInput =
  | string
  | McpToolView
  | (() => Promise<{ readonly default: string | McpToolView }>);

/** Returns a function that loads the view. A module is loaded at most once. */
export function viewLoader(subject: string, input: ViewInput): () => Promise<McpToolView> {
  if (typeof input !== "function") {
    const view = checkedView(subject, input);
    return () => Promise.resolve(view);
  }
  let loaded: Promise<McpToolView> | undefined;
  return () => {
    loaded ??= input().then((module) => checkedView(subject, module.default));
    // Try again the next time if the module failed to load.
    loaded.catch(() => loaded = undefined);
    return loaded;
  };
}

function checkedView(subject: string, input: unknown): McpToolView {
  const view = typeof input === "string" ? { html: input } : input as McpToolView;
  if (typeof view?.html === "string" && view.html.trim() !== "") return view;
  throw new DefinitionError(
    subject,
    "its view",
    "has no HTML",
    "give a document, { html }, or a module whose default export is one of them",
  );
}

export function checkedVisibility(
  subject: string,
  visibility: readonly ToolVisibility[],
): readonly ToolVisibility[] {
  const known: readonly unknown[] = ["model", "app"] satisfies ToolVisibility[];
  if (visibility.length > 0 && visibility.every((one) => known.includes(one))) return visibility;
  throw new DefinitionError(
    subject,
    "its visibility",
    "is empty, or contains an unknown value",
    'use "model", "app" or both',
  );
}
