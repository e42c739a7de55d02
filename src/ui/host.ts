/// <reference lib="dom" />
/**
 * Connects a view to its host, with JSON-RPC over `postMessage` (MCP Apps 2026-01-26). It supports
 * only what our views need: the official library is a hundred times as large.
 */
import type { JsonObject } from "../model/content.ts";

/** A result of `tools/call`, as far as views read it. */
export interface ViewResult {
  readonly content?: readonly { readonly type?: string; readonly text?: string }[];
  readonly structuredContent?: JsonObject;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

export interface HostContext {
  readonly theme?: string;
  readonly styles?: { readonly variables?: { readonly [name: string]: string | undefined } };
  readonly toolInfo?: { readonly tool?: { readonly name?: string } };
}

/** Handlers for messages from the host, by method. The handler of a request returns its result. */
export interface Handlers {
  readonly [method: string]: ((params: JsonObject, id?: unknown) => unknown) | undefined;
}

interface Waiting {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

const VERSION = "2026-01-26";

export class Host {
  /** The capabilities that the host declared. Empty before `start` has ended. */
  capabilities: JsonObject = {};
  context: HostContext = {};
  readonly #waiting = new Map<number, Waiting>();
  readonly #handlers: Handlers;
  #lastId = 0;

  constructor(handlers: Handlers) {
    this.#handlers = {
      ping: () => ({}),
      "ui/resource-teardown": () => ({}),
      "ui/notifications/host-context-changed": (params) => this.#adopt(params),
      ...handlers,
    };
    addEventListener("message", ({ source, data }) => {
      if (source === parent && data?.jsonrpc === "2.0") this.#receive(data);
    });
  }

  /** Initializes the connection. After that, reports the size of the view to the host. */
  async start(name: string, appCapabilities: JsonObject): Promise<void> {
    const { hostCapabilities, hostContext } = await this.request("ui/initialize", {
      appInfo: { name, version: "1" },
      appCapabilities: { availableDisplayModes: ["inline"], ...appCapabilities },
      protocolVersion: VERSION,
    });
    this.capabilities = (hostCapabilities ?? {}) as JsonObject;
    this.#adopt((hostContext ?? {}) as JsonObject);
    this.notify("ui/notifications/initialized", {});
    const root = document.documentElement;
    new ResizeObserver(() => {
      const height = Math.ceil(document.body.getBoundingClientRect().height);
      this.notify("ui/notifications/size-changed", { width: root.scrollWidth, height });
    }).observe(document.body);
  }

  request(method: string, params: JsonObject): Promise<JsonObject> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#post({ id, method, params });
    });
  }

  notify(method: string, params: JsonObject): void {
    this.#post({ method, params });
  }

  callTool(name: string, args: JsonObject): Promise<ViewResult> {
    return this.request("tools/call", { name, arguments: args });
  }

  /**
   * Sends a message to the host. A view does not know the origin of its host, so any origin is
   * allowed.
   */
  #post(message: JsonObject): void {
    parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }

  #receive({ id, method, params, result, error }: JsonObject): void {
    if (typeof method === "string") {
      const handle = Object.hasOwn(this.#handlers, method) ? this.#handlers[method] : undefined;
      const given = (params ?? {}) as JsonObject;
      if (id === undefined) handle?.(given);
      else this.#answer(id, handle && (() => handle(given, id)));
      return;
    }
    const waiting = this.#waiting.get(id as number);
    this.#waiting.delete(id as number);
    if (error) waiting?.reject(new Error(String((error as JsonObject).message)));
    else waiting?.resolve((result ?? {}) as JsonObject);
  }

  async #answer(id: unknown, handle: (() => unknown) | undefined): Promise<void> {
    try {
      if (!handle) {
        throw Object.assign(
          new Error("Cannot answer the request: views do not support this method; use another one"),
          { code: -32601 },
        );
      }
      this.#post({ id, result: await handle() });
    } catch (error) {
      const { code = -32603, message } = error as Error & { code?: number };
      this.#post({ id, error: { code, message } });
    }
  }

  /** Applies the theme and the style variables of the host. */
  #adopt(context: HostContext): void {
    this.context = { ...this.context, ...context };
    const { theme, styles } = this.context;
    const root = document.documentElement;
    if (theme) root.dataset.theme = theme;
    for (const [name, value] of Object.entries(styles?.variables ?? {})) {
      if (name.startsWith("--") && value) root.style.setProperty(name, value);
    }
  }
}
