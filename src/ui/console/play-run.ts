/// <reference lib="dom" />
/**
 * One run in Play: a real client calls the server's MCP endpoint, and the person who uses the page
 * answers the questions of the server.
 */
import {
  type Operation,
  run,
  type Scope,
  suspend,
  type Task,
  useScope,
  withResolvers,
} from "effection";
import { LegacyServer } from "../../client/legacy.ts";
import { ModernServer } from "../../client/modern.ts";
import type { Person, Progress, Question } from "../../client/person.ts";
import type { RemoteServer, RemoteTool } from "../../client/server.ts";
import type { TraceLine } from "../../client/http.ts";
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import type { ClientAnswer, ClientCapabilities } from "../../model/events.ts";

export const ERAS = { modern: "2026-07-28", legacy: "2025-11-25" } as const;

export const CAPABILITIES = {
  forms: "Forms",
  pages: "Pages",
  sampling: "Sampling",
  roots: "Roots",
  apps: "App views",
} as const;

export interface PlaySettings {
  readonly era: keyof typeof ERAS;
  readonly can: { readonly [key in keyof typeof CAPABILITIES]: boolean };
  /** The access token, if the server needs one. It is kept in memory only. */
  readonly token: string;
}

export const CLIENT_NAME = "parley-console";
const UI = "io.modelcontextprotocol/ui";

export function capabilitiesOf({ can }: PlaySettings): ClientCapabilities {
  const elicitation = { ...(can.forms && { form: {} }), ...(can.pages && { url: {} }) };
  return {
    ...((can.forms || can.pages) && { elicitation }),
    ...(can.sampling && { sampling: { tools: {} } }),
    ...(can.roots && { roots: {} }),
    ...(can.apps && { extensions: { [UI]: { mimeTypes: ["text/html;profile=mcp-app"] } } }),
  };
}

/** Connects as a client of the chosen era. */
export function* connectAs(
  url: string,
  settings: PlaySettings,
  version: string,
  trace?: (line: TraceLine) => void,
): Operation<RemoteServer> {
  const headers = settings.token === "" ? {} : { authorization: `Bearer ${settings.token}` };
  const endpoint = { url, headers, trace };
  const identity = { name: CLIENT_NAME, version };
  const capabilities = capabilitiesOf(settings);
  if (settings.era === "modern") return new ModernServer(endpoint, identity, capabilities);
  const legacy = new LegacyServer(endpoint, capabilities);
  yield* legacy.initialize(identity);
  return legacy;
}

/** A tool, prompt or resource that a person can try. */
export interface Playable {
  readonly kind: "tool" | "prompt" | "resource";
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The JSON Schema of the arguments. */
  readonly schema: JsonObject;
  /** The definition as the server lists it. */
  readonly listed: JsonObject;
}

/** The view of a tool, by the `_meta` of its list entry. */
export function viewUri({ _meta }: JsonObject): string | undefined {
  const ui = isObject(_meta) ? _meta.ui : undefined;
  const uri = isObject(ui) ? ui.resourceUri : undefined;
  return typeof uri === "string" ? uri : undefined;
}

/** Lists everything that a client with these settings can use. */
export function* listPlayables(url: string, settings: PlaySettings): Operation<Playable[]> {
  const server = yield* connectAs(url, settings, "1");
  try {
    const tools = yield* listed(server, "tools/list", "tools");
    const prompts = yield* listed(server, "prompts/list", "prompts");
    const resources = yield* listed(server, "resources/list", "resources");
    const templates = yield* listed(server, "resources/templates/list", "resourceTemplates");
    return [
      ...tools.filter(isForModels).map((one) =>
        playable("tool", one, isObject(one.inputSchema) ? one.inputSchema : {})
      ),
      ...prompts.map((one) => playable("prompt", one, argumentSchema(one.arguments))),
      ...resources.map((one) => playable("resource", one, {})),
      ...templates.map((one) => playable("resource", one, templateSchema(one.uriTemplate))),
    ];
  } finally {
    yield* server.close();
  }
}

function* listed(server: RemoteServer, method: string, key: string): Operation<JsonObject[]> {
  const found: JsonObject[] = [];
  let cursor: unknown;
  do {
    let page: JsonObject;
    try {
      page = yield* server.request(method, cursor === undefined ? {} : { cursor });
    } catch (error) {
      // A server without prompts or resources does not know the method.
      if (method === "tools/list") throw error;
      return found;
    }
    if (Array.isArray(page[key])) found.push(...page[key].filter(isObject));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return found;
}

/** Tools that only views may call are not for people. */
function isForModels({ _meta }: JsonObject): boolean {
  const ui = isObject(_meta) ? _meta.ui : undefined;
  const visibility = isObject(ui) ? ui.visibility : undefined;
  return !Array.isArray(visibility) || visibility.includes("model");
}

function playable(kind: Playable["kind"], listed: JsonObject, schema: JsonObject): Playable {
  const name = String(listed.name);
  const title = typeof listed.title === "string" ? listed.title : name;
  return { kind, name, title, description: String(listed.description ?? ""), schema, listed };
}

function argumentSchema(given: unknown): JsonObject {
  const all = Array.isArray(given) ? given.filter(isObject) : [];
  return {
    type: "object",
    properties: Object.fromEntries(
      all.map(({ name, title, description }) => [
        String(name),
        { type: "string", ...(title ? { title } : {}), ...(description ? { description } : {}) },
      ]),
    ),
    required: all.filter(({ required }) => required === true).map(({ name }) => String(name)),
  };
}

const VARIABLE = /\{[+#./;?&]?([^}]*)\}/g;

function templateSchema(template: unknown): JsonObject {
  const names = [...String(template).matchAll(VARIABLE)]
    .flatMap(([, list = ""]) => list.split(",").map((name) => name.replace(/[*:].*$/, "")));
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  return { type: "object", properties, required: names };
}

/** The URI of a resource, from its template and the values of the form. */
export function uriOf({ listed }: Playable, args: JsonObject): string {
  const { uri, uriTemplate } = listed;
  if (typeof uri === "string") return uri;
  return String(uriTemplate).replace(
    VARIABLE,
    (_, list: string) =>
      list.split(",").map((name) =>
        encodeURIComponent(String(args[name.replace(/[*:].*$/, "")] ?? ""))
      ).join(","),
  );
}

/** A question in the page. */
export interface Asked {
  readonly id: number;
  readonly question: Question;
  /** How the question ended. Undefined while it is open. */
  readonly ended?: string;
  answer(answer: ClientAnswer, summary: string): void;
}

export interface RunState {
  readonly status: "running" | "done" | "failed" | "cancelled";
  readonly asked: readonly Asked[];
  readonly progress?: Progress;
  readonly logs: readonly { readonly level: string; readonly data: unknown }[];
  readonly wire: readonly TraceLine[];
  readonly result?: JsonObject;
  readonly problem?: string;
  /** The HTML of the tool's view. */
  readonly view?: string;
  /** The ticket of a call that waits, and that `continue_call` continues. */
  readonly ticket?: string;
}

const MAX_LINES = 1_000;

export class PlayRun {
  state: RunState = { status: "running", asked: [], logs: [], wire: [] };
  /** Distinguishes this run from others on the server. It is sent as the version of the client. */
  readonly id: string = crypto.randomUUID().slice(0, 8);
  readonly #task: Task<void>;
  readonly #changed: () => void;
  #server: RemoteServer | undefined;
  #scope: Scope | undefined;
  #calling: Task<void> | undefined;
  #lastId = 0;

  constructor(
    readonly of: Playable,
    readonly args: JsonObject,
    settings: PlaySettings,
    url: string,
    changed: () => void,
  ) {
    this.#changed = changed;
    const self = this;
    this.#task = run(function* () {
      self.#scope = yield* useScope();
      try {
        const server = self.#server = yield* connectAs(url, settings, self.id, self.#trace);
        try {
          yield* self.#showView(server, settings);
          self.#calling = self.#scope.run(() => self.#call((person) => self.#perform(person)));
          // The view of the tool may need the connection after the call has ended.
          yield* suspend();
        } finally {
          yield* server.close();
        }
      } catch (error) {
        self.#fail(error);
      }
    });
    this.#task.catch(() => {});
  }

  /** Cancels the call. */
  async cancel(): Promise<void> {
    if (this.state.status !== "running") return;
    this.#set({ status: "cancelled" });
    await this.#calling?.halt();
  }

  /** Ends the run and its connection. */
  async close(): Promise<void> {
    await this.#task.halt();
  }

  /** Continues a call that was deferred, as a model does. */
  continueCall(): void {
    const { ticket } = this.state;
    if (ticket === undefined || this.state.status === "running" || !this.#scope) return;
    this.#set({ status: "running", ticket: undefined });
    const params = { name: "continue_call", arguments: { ticket } };
    this.#calling = this.#scope.run(() =>
      this.#call((person) => this.#server!.request("tools/call", params, person))
    );
  }

  /** Sends a request for the view of the tool. Never throws. */
  async forView(args: JsonObject): Promise<{ result: JsonObject } | { error: string }> {
    const server = this.#server;
    if (!server || !this.#scope) return { error: "The run has ended." };
    return await this.#scope.run(function* () {
      try {
        const params = { name: "answer_call", arguments: args };
        return { result: yield* server.request("tools/call", params) };
      } catch (error) {
        return { error: (error as Error).message };
      }
    });
  }

  *#showView(server: RemoteServer, { can }: PlaySettings): Operation<void> {
    const uri = can.apps && this.of.kind === "tool" ? viewUri(this.of.listed) : undefined;
    if (uri === undefined) return;
    const { contents } = yield* server.request("resources/read", { uri });
    const [first] = Array.isArray(contents) ? contents.filter(isObject) : [];
    if (typeof first?.text === "string") this.#set({ view: first.text });
  }

  *#perform(person: Person): Operation<JsonObject> {
    const { kind, name, listed } = this.of;
    const server = this.#server!;
    switch (kind) {
      case "tool":
        return (yield* server.call(
          listed as unknown as RemoteTool,
          this.args,
          person,
        )) as unknown as JsonObject;
      case "prompt":
        return yield* server.request("prompts/get", { name, arguments: this.args }, person);
      case "resource":
        return yield* server.request("resources/read", { uri: uriOf(this.of, this.args) }, person);
    }
  }

  /** Runs one request to its end. Never throws. */
  *#call(perform: (person: Person) => Operation<JsonObject>): Operation<void> {
    try {
      const result = yield* perform(this.#person);
      const { structuredContent: data } = result;
      const ticket = isObject(data) && data.status === "waiting" ? data.ticket : undefined;
      this.#set({
        status: "done",
        result,
        progress: undefined,
        ticket: typeof ticket === "string" ? ticket : undefined,
      });
    } catch (error) {
      this.#fail(error);
    }
  }

  readonly #person: Person = {
    answer: (question) => this.#ask(question),
    progress: (progress) => this.#set({ progress }),
    log: (level, data) => this.#set({ logs: [...this.state.logs, { level, data }] }),
    done: () => {},
  };

  *#ask(question: Question): Operation<ClientAnswer> {
    const id = ++this.#lastId;
    const { operation, resolve } = withResolvers<ClientAnswer>();
    const end = (ended: string) =>
      this.#set({
        asked: this.state.asked.map((one) => one.id === id && !one.ended ? { ...one, ended } : one),
      });
    const asked: Asked = {
      id,
      question,
      answer: (answer, summary) => {
        end(summary);
        resolve(answer);
      },
    };
    this.#set({ asked: [...this.state.asked, asked] });
    try {
      return yield* operation;
    } finally {
      end("Withdrawn");
    }
  }

  readonly #trace = (line: TraceLine): void => {
    this.#set({ wire: [...this.state.wire, line].slice(-MAX_LINES) });
  };

  #fail(error: unknown): void {
    this.#set({ status: "failed", problem: (error as Error).message, progress: undefined });
  }

  #set(change: { [key in keyof RunState]?: RunState[key] | undefined }): void {
    this.state = { ...this.state, ...change } as RunState;
    this.#changed();
  }
}
