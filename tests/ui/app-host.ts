/// <reference lib="dom" />
/**
 * A host of MCP Apps in a page, made with the official AppBridge. Tests bundle it and drive it with
 * the functions that it puts on the window.
 */
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

export interface MountOptions {
  readonly html: string;
  /** Default: `allow-scripts` alone, so that the view has an opaque origin and cannot submit. */
  readonly sandbox?: string;
  /** The name of the tool that the host tells the view. Default: none. */
  readonly tool?: string;
  readonly theme?: "light" | "dark";
  /** Whether the host takes messages of the view for the model. */
  readonly messages?: boolean;
  /** Whether views may call tools. Default: true. */
  readonly serverTools?: boolean;
  /** The URL of a proxy on another origin, which shows the view in a frame of its own. */
  readonly proxy?: string;
}

interface TestHost {
  /** Calls a tool for the view. The test sets it. */
  callTool(params: { name: string; arguments?: unknown }): Promise<unknown>;
  /** What the view told the host. */
  events: { readonly kind: string; readonly value: unknown }[];
  mount(options: MountOptions): Promise<void>;
  input(args: object): Promise<void>;
  result(result: object): Promise<void>;
  /** Asks with a form that the view draws (SEP-3118). */
  elicit(params: object): Promise<unknown>;
}

// deno-lint-ignore no-explicit-any
type Loose = any;

const host = globalThis as unknown as TestHost;
host.events = [];
/** Keeps an event, also as an element: a test can wait for one, whatever the policy of the page. */
function heard(kind: string, value?: unknown): void {
  host.events.push({ kind, value });
  const mark = document.createElement("i");
  mark.hidden = true;
  mark.dataset.kind = kind;
  mark.dataset.value = JSON.stringify(value);
  document.body.append(mark);
}

let bridge: AppBridge;
let view: Window;

// AppBridge drops what it does not know, such as the capability of SEP-3118.
addEventListener("message", ({ data }) => {
  if (data?.method === "ui/initialize") heard("initialize", data.params.appCapabilities);
});

host.mount = async (options) => {
  const { html, sandbox = "allow-scripts", tool, theme, messages, serverTools = true, proxy } =
    options;
  const frame = document.createElement("iframe");
  // The proxy needs its origin, and gives the view what `sandbox` says.
  frame.setAttribute("sandbox", proxy ? "allow-scripts allow-same-origin allow-forms" : sandbox);
  frame.title = "view";
  document.body.append(frame);
  view = frame.contentWindow!;
  const takes = { updateModelContext: { text: {} }, message: { text: {} } };
  const capabilities: Loose = {
    ...(serverTools && { serverTools: {} }),
    elicitation: {},
    ...(messages && takes),
  };
  const hostContext: Loose = {
    ...(theme && { theme }),
    ...(tool && { toolInfo: { tool: { name: tool, inputSchema: { type: "object" } } } }),
  };
  bridge = new AppBridge(null, { name: "test host", version: "1" }, capabilities, { hostContext });
  bridge.oncalltool = async (params: Loose) => {
    heard("tools/call", params);
    return await host.callTool(params) as Loose;
  };
  bridge.onmessage = (params: Loose) => {
    heard("ui/message", params);
    return Promise.resolve({});
  };
  bridge.onupdatemodelcontext = (params: Loose) => {
    heard("ui/update-model-context", params);
    return Promise.resolve({});
  };
  bridge.onsizechange = ({ height }: Loose) => {
    heard("size", height);
    frame.style.height = `${height}px`;
  };
  const ready = new Promise<void>((resolve) => bridge.oninitialized = () => resolve());
  if (proxy) {
    const proxyReady = heardFrom(view, "ui/notifications/sandbox-proxy-ready");
    frame.src = proxy;
    await proxyReady;
    await bridge.connect(new PostMessageTransport(view, view));
    await bridge.sendSandboxResourceReady({ html, sandbox });
  } else {
    await bridge.connect(new PostMessageTransport(view, view));
    frame.srcdoc = html;
  }
  await ready;
};

function heardFrom(from: Window, method: string): Promise<void> {
  return new Promise((resolve) => {
    addEventListener("message", function listen({ source, data }) {
      if (source !== from || data?.method !== method) return;
      removeEventListener("message", listen);
      resolve();
    });
  });
}

host.input = (args) => bridge.sendToolInput({ arguments: args as Loose });
host.result = (result) => bridge.sendToolResult(result as Loose);

/** AppBridge knows nothing of SEP-3118, so this request is sent by hand. */
host.elicit = (params) =>
  new Promise((resolve) => {
    addEventListener("message", function listen({ source, data }) {
      if (source !== view || data?.id !== "elicit") return;
      removeEventListener("message", listen);
      resolve(data.result ?? data.error);
    });
    view.postMessage({ jsonrpc: "2.0", id: "elicit", method: "elicitation/create", params }, "*");
  });
