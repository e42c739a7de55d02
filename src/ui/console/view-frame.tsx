/** @jsxImportSource preact */
/// <reference lib="dom" />
/**
 * Draws the view of a tool (MCP Apps) in a frame with an opaque origin.
 *
 * FRAME-1  A view reaches only its own call: it can use the tool `answer_call`, with the tool and
 *          arguments of this run, or with the tickets and secrets that its results contained.
 * FRAME-2  A message counts only if it comes from the frame itself.
 */
import { useEffect, useRef } from "preact/hooks";
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import { METHOD_NOT_FOUND } from "../../model/rpc-codes.ts";
import { ASK_META } from "../ask-state.ts";
import type { PlayRun } from "./play-run.ts";

const MAX_HEIGHT = 1_200;

export function ViewFrame({ run, html }: { run: PlayRun; html: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const bridge = useRef<Bridge>(null);
  useEffect(() => {
    const made = bridge.current = new Bridge(frame.current!, run, html);
    return () => made.close();
  }, [run, html]);
  const { result } = run.state;
  useEffect(() => {
    if (result) bridge.current!.tell(result);
  }, [result]);
  return (
    <iframe
      ref={frame}
      class="view-frame"
      title={`View of ${run.of.title}`}
      sandbox="allow-scripts"
      src="console/frame"
    />
  );
}

class Bridge {
  readonly #known = new Set<unknown>();
  #ready = false;
  #result: JsonObject | undefined;

  constructor(
    readonly frame: HTMLIFrameElement,
    readonly run: PlayRun,
    readonly html: string,
  ) {
    addEventListener("message", this.#hear);
  }

  close(): void {
    removeEventListener("message", this.#hear);
  }

  /** Passes the result of the call to the view. */
  tell(result: JsonObject): void {
    this.#learn(result);
    this.#result = result;
    if (this.#ready) this.#post({ method: "ui/notifications/tool-result", params: result });
  }

  /** Remembers the tickets and secrets of the call (FRAME-1). */
  #learn({ _meta, structuredContent }: JsonObject): void {
    const state = isObject(_meta) ? _meta[ASK_META] : undefined;
    for (const part of [state, structuredContent]) {
      if (isObject(part)) [part.ticket, part.secret].forEach((one) => one && this.#known.add(one));
    }
  }

  readonly #hear = ({ source, data }: MessageEvent): void => {
    // FRAME-2
    if (source !== this.frame.contentWindow || !isObject(data)) return;
    if (data.frame === "ready" && !this.#ready) {
      this.frame.contentWindow!.postMessage({ view: this.html }, "*");
    } else if (data.jsonrpc === "2.0" && typeof data.method === "string") {
      const params = isObject(data.params) ? data.params : {};
      this.#receive(data.method, params).then(
        (result) => data.id !== undefined && this.#post({ id: data.id, result }),
        ({ message }) => {
          const error = { code: METHOD_NOT_FOUND, message };
          if (data.id !== undefined) this.#post({ id: data.id, error });
        },
      );
    }
  };

  async #receive(method: string, params: JsonObject): Promise<JsonObject> {
    switch (method) {
      case "ui/initialize":
        return this.#initialize(params);
      case "ui/notifications/initialized":
        this.#ready = true;
        this.#post({ method: "ui/notifications/tool-input", params: { arguments: this.run.args } });
        if (this.#result) this.tell(this.#result);
        return {};
      case "ui/notifications/size-changed":
        if (typeof params.height === "number") {
          this.frame.style.height = `${Math.min(MAX_HEIGHT, Math.ceil(params.height))}px`;
        }
        return {};
      case "ui/message":
      case "ui/update-model-context":
        // The view says that the person has answered.
        this.run.continueCall();
        return {};
      case "ping":
        return {};
      case "tools/call": {
        const answer = await this.run.forView(this.#allowed(params));
        if ("error" in answer) throw new Error(answer.error);
        this.#learn(answer.result);
        return answer.result;
      }
    }
    throw new Error(`Cannot do "${method}": the console does not offer it to views`);
  }

  #initialize({ protocolVersion }: JsonObject): JsonObject {
    const isDark = getComputedStyle(document.documentElement).colorScheme === "dark" ||
      matchMedia("(prefers-color-scheme: dark)").matches;
    const { name, schema } = this.run.of;
    return {
      protocolVersion,
      hostInfo: { name: "parley-console", version: "1" },
      hostCapabilities: { serverTools: {}, message: { text: {} } },
      hostContext: {
        theme: document.documentElement.dataset.theme ?? (isDark ? "dark" : "light"),
        toolInfo: { tool: { name, inputSchema: schema } },
        displayMode: "inline",
        availableDisplayModes: ["inline"],
      },
    };
  }

  /** The arguments of a call that a view may make (FRAME-1). */
  #allowed({ name, arguments: given }: JsonObject): JsonObject {
    const args = isObject(given) ? given : {};
    if (name === "answer_call") {
      const { find, ticket, secret, answer } = args;
      if (find !== undefined) {
        return { find: { tool: this.run.of.name, arguments: this.run.args } };
      }
      if (secret !== undefined && this.#known.has(secret)) {
        return { secret, ...(answer !== undefined && { answer }) };
      }
      if (secret === undefined && this.#known.has(ticket)) return { ticket };
    }
    throw new Error(`Cannot call "${name}": a view reaches only its own call`);
  }

  #post(message: JsonObject): void {
    // The frame has an opaque origin, which cannot be named.
    this.frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }
}
