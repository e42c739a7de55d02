// deno-lint-ignore-file no-explicit-any
/** A view in a host in a browser, and a call that it asks about, answered by the test. */
import { type Operation, resource, until } from "effection";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContextOptions, FrameLocator, Page } from "playwright-core";
import { bundle } from "../../scripts/browser-code.ts";
import type { AskState, ViewQuestion } from "../../src/ui/ask-state.ts";
import { useBrowser } from "../support/browser.ts";
import type { MountOptions } from "./app-host.ts";

/** As strict as the default policy of MCP Apps. A view in a frame inherits it. */
const POLICY = "default-src 'none'; script-src 'self' 'unsafe-inline'; " +
  "style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'none'; " +
  "frame-src 'self' http://127.0.0.1:*; " +
  "object-src 'none'; base-uri 'self'; form-action 'none'";

let built: string | undefined;

export interface ShownApp {
  readonly page: Page;
  readonly view: FrameLocator;
  /** The view, if it is shown by a proxy. */
  readonly proxied: FrameLocator;
  /** The URL of a proxy on another origin. */
  readonly proxy: string;
  mount(options: MountOptions): Promise<void>;
  input(args: object): Promise<void>;
  result(result: object): Promise<void>;
  elicit(params: object): Promise<unknown>;
  events(kind: string): Promise<readonly any[]>;
  /** Waits for an event whose JSON has this text in it. */
  heard(kind: string, text?: string): Promise<void>;
}

/** Opens a host page in a browser. `callTool` answers the calls of its view. */
export function useApp(
  callTool: (params: { name: string; arguments: any }) => Promise<object> | object,
  options: BrowserContextOptions = {},
): Operation<ShownApp> {
  return resource(function* (provide) {
    built ??= bundle("tests/ui/app-host.ts");
    const server = createServer((request, response) => {
      const isScript = request.url === "/host.js";
      response.setHeader("content-type", isScript ? "text/javascript" : "text/html; charset=utf-8");
      response.setHeader("content-security-policy", POLICY);
      response.end(isScript ? built : HOST_PAGE);
    });
    const other = createServer((_request, response) => {
      response.setHeader("content-type", "text/html; charset=utf-8");
      response.setHeader("content-security-policy", POLICY);
      response.end(PROXY_PAGE);
    });
    yield* until(new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
    yield* until(new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve)));
    try {
      const browser = yield* useBrowser(options);
      const page = yield* until(browser.newPage());
      yield* until(page.exposeFunction("callTool", callTool));
      yield* until(page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`));
      const call = (name: string) => (value: object) =>
        page.evaluate(
          ([name, value]) => (globalThis as any)[name as string](value),
          [name, value] as const,
        );
      yield* provide({
        page,
        view: page.frameLocator("iframe"),
        proxied: page.frameLocator("iframe").frameLocator("iframe"),
        proxy: `http://127.0.0.1:${(other.address() as AddressInfo).port}/`,
        mount: call("mount") as ShownApp["mount"],
        input: call("input"),
        result: call("result"),
        elicit: call("elicit"),
        heard: (kind, text) =>
          page.locator(`[data-kind="${kind}"]${text ? `[data-value*="${text}"]` : ""}`).first()
            .waitFor({ state: "attached" }),
        events: async (kind) => {
          const all: any[] = await page.evaluate("globalThis.events");
          return all.filter((event) => event.kind === kind).map(({ value }) => value);
        },
      });
    } finally {
      for (const one of [server, other]) {
        one.closeAllConnections();
        one.close();
      }
    }
  });
}

const HOST_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>host</title>
<style>body { margin: 0 } iframe { width: 100%; border: 0 }</style>
<main><h1>Chat</h1></main><script type="module" src="/host.js"></script></html>`;

/**
 * The sandbox proxy of the official example host: a page on another origin that shows the view in a
 * frame within it, and passes messages on.
 */
const PROXY_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>proxy</title>
<style>html, body { margin: 0; height: 100% } iframe { width: 100%; height: 100%; border: 0 }</style>
<script>
const inner = document.createElement("iframe");
inner.title = "view";
inner.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
document.documentElement.append(inner);
const hostOrigin = new URL(document.referrer).origin;
addEventListener("message", ({ source, origin, data }) => {
  if (source === parent) {
    if (origin !== hostOrigin) return;
    if (data?.method !== "ui/notifications/sandbox-resource-ready") {
      inner.contentWindow.postMessage(data, "*");
      return;
    }
    const { html, sandbox } = data.params;
    if (sandbox) inner.setAttribute("sandbox", sandbox);
    if (inner.getAttribute("sandbox").includes("allow-same-origin")) {
      inner.contentDocument.open();
      inner.contentDocument.write(html);
      inner.contentDocument.close();
    } else inner.srcdoc = html;
  } else if (source === inner.contentWindow) parent.postMessage(data, hostOrigin);
});
parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, hostOrigin);
</script></html>`;

/** The server's side of a call that asks: `answer_call` with a list of questions. */
export class ScriptedCall {
  readonly answers: { action: string; content?: object }[] = [];
  readonly calls: any[] = [];
  readonly ticket = "t_1";
  readonly secret = "s_1";
  /** Whether a view can find the call by its tool and arguments. */
  canBeFound = true;
  tell = true;
  /** What the next answer is refused with. */
  problems: AskState["problems"];
  #step = 0;

  constructor(
    readonly questions: readonly Omit<ViewQuestion, "id">[],
    readonly final: object = { content: [{ type: "text", text: "Booked." }] },
  ) {}

  get question(): ViewQuestion | undefined {
    const question = this.questions[this.#step];
    return question && { id: `q-${this.#step}`, ...question };
  }

  /** What a deferral tells, as a host gets it. */
  deferral(): any {
    const text = `A person must answer. Call continue_call with {"ticket":"${this.ticket}"}.`;
    return {
      content: [{ type: "text", text }],
      structuredContent: { status: "waiting", ticket: this.ticket, message: text },
      ...this.#meta(),
    };
  }

  readonly callTool = ({ name, arguments: args }: { name: string; arguments: any }): object => {
    this.calls.push(args);
    if (name !== "answer_call") return refusal(`no tool ${name}`);
    if (args.find && !this.canBeFound) return refusal("no such call");
    if (args.ticket !== undefined && args.ticket !== this.ticket) return refusal("gone");
    if (args.secret !== undefined && args.secret !== this.secret) return refusal("gone");
    if (args.answer) {
      if (args.answer.question !== this.question?.id) return refusal("It was answered before");
      if (this.problems && args.answer.action === "accept") {
        const { problems } = this;
        this.problems = undefined;
        const meta = this.#meta()._meta["parley/ask"];
        return { content: [], _meta: { "parley/ask": { ...meta, problems } } };
      }
      const { action, content } = args.answer;
      this.answers.push({ action, ...(content && { content }) });
      this.#step++;
    }
    return { ...(this.question ? { content: [] } : this.final), ...this.#meta() };
  };

  #meta(): { _meta: { "parley/ask": AskState } } {
    const { question, ticket, secret, tell } = this;
    const state = question ? "question" : "done";
    return {
      _meta: {
        "parley/ask": { ticket, secret, state, tell, ...(question && { question }) },
      },
    };
  }
}

function refusal(text: string): object {
  return { content: [{ type: "text", text }], isError: true };
}
