/** `parley call`: calls a tool from the terminal. */
import { existsSync } from "node:fs";
import { ensure, type Operation, race, scoped, until } from "effection";
import { Refusal } from "../../client/http.ts";
import type { Person } from "../../client/person.ts";
import { isObject } from "../../lib/json.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { JsonObject } from "../../model/content.ts";
import type { ToolResult, ToolSessionEvent } from "../../model/events.ts";
import { startIsOver } from "../../platform/warm-up.ts";
import type { Served } from "../../tool/skill.ts";
import type { FinalizedMcpTool } from "../../tool/types.ts";
import type { Environment } from "../environment.ts";
import { FAILED, Problem, USAGE } from "../problem.ts";
import { eventLine } from "../calls/shown.ts";
import { wireTrace } from "../calls/wire-trace.ts";
import { exitCodeOf, useSignals } from "../signals.ts";
import { AtTerminal } from "../terminal/at-terminal.ts";
import { fieldsOf } from "../terminal/fields.ts";
import { readableResult } from "../terminal/result.ts";
import { visibleJson } from "../terminal/visible.ts";
import { callHere } from "./call-here.ts";
import { loadDefinitions } from "./load.ts";
import { ownModel } from "./model.ts";
import { serverAddress, type ServerFlags, toolsOf, useServer } from "./remote-server.ts";

export interface CallTarget {
  readonly tool: string;
  readonly args: string | undefined;
  readonly modules: readonly string[];
}

export interface CallOptions extends ServerFlags {
  readonly url?: string;
  readonly model: "auto" | "me";
  /** The model that a config file names. */
  readonly ownModel?: string;
  readonly modelUrl?: string;
  readonly modelKeyFile?: string;
  readonly json?: boolean;
  readonly trace?: boolean;
}

export function* call(
  target: CallTarget,
  options: CallOptions,
  environment: Environment,
): Operation<number> {
  const { args, modules } = readTarget(target);
  const { terminal } = environment;
  const { model, ownModel: name, ...flags } = options;
  const provider = model === "me" ? undefined : ownModel({ ...flags, model: name });
  const person = new AtTerminal(terminal, provider);
  yield* ensure(() => person.done());
  const signals = yield* useSignals();
  const ended = yield* race([
    options.url === undefined
      ? callOwn(target.tool, args, modules, options, person, environment)
      : callRemote(options.url, target.tool, args, options, person, environment),
    interrupted(signals),
  ]);
  person.done();
  if (typeof ended === "number") return ended;
  const { json = false } = options;
  terminal.print(
    json ? visibleJson(ended, 2) : readableResult(ended, terminal.out),
  );
  return ended.isError ? FAILED : 0;
}

function* interrupted(
  signals: { next(): Operation<{ value: Parameters<typeof exitCodeOf>[0] }> },
): Operation<number> {
  return exitCodeOf((yield* signals.next()).value);
}

/** Parses the arguments. If they are left out, the word in their place is the path of a module. */
function readTarget({ args, modules }: CallTarget): {
  args: JsonObject | undefined;
  modules: readonly string[];
} {
  if (args === undefined) return { args, modules };
  if (!/^\s*[{["]/.test(args) && existsSync(args)) {
    return { args: undefined, modules: [args, ...modules] };
  }
  let value: unknown;
  try {
    value = JSON.parse(args);
  } catch (error) {
    throw new Problem(
      `Cannot read the arguments: they are not JSON (${
        messageOf(error)
      }); write them as '{"name": "value"}'`,
      USAGE,
    );
  }
  if (isObject(value)) return { args: value, modules };
  throw new Problem(
    `Cannot use the arguments: they are not a JSON object; write them as '{"name": "value"}'`,
    USAGE,
  );
}

// Calls of tools in this process.

function* callOwn(
  name: string,
  args: JsonObject | undefined,
  modules: readonly string[],
  { trace }: CallOptions,
  person: AtTerminal,
  environment: Environment,
): Operation<ToolResult> {
  const definitions = yield* until(loadDefinitions(modules, environment));
  const tools = definitions.filter(isTool);
  const tool = tools.find((one) => one.name === name);
  if (!tool) throw unknownTool(name, tools);
  const given = args ?? (yield* askArguments(name, tool.parameters.json, person, environment));
  startIsOver();
  const { err } = environment.terminal;
  const traceEvent = (event: ToolSessionEvent) => person.trace(eventLine(event, err));
  return yield* callHere(tool, given, person, trace ? traceEvent : undefined);
}

function isTool(definition: Served): definition is FinalizedMcpTool {
  return definition.kind === "tool";
}

// Calls of tools on a server.

function callRemote(
  url: string,
  name: string,
  args: JsonObject | undefined,
  options: CallOptions,
  person: AtTerminal,
  environment: Environment,
): Operation<ToolResult> {
  return scoped(function* () {
    const { err } = environment.terminal;
    const trace = options.trace ? wireTrace((line) => person.trace(line), err) : undefined;
    const server = yield* useServer(serverAddress(url), options, environment, trace);
    const tools = yield* toolsOf(server, url);
    const tool = tools.find((one) => one.name === name);
    if (!tool) throw unknownTool(name, tools);
    const given = args ?? (yield* askArguments(name, tool.inputSchema, person, environment));
    try {
      return yield* server.call(tool, given, person);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new Problem(
        `Cannot finish "${name}": the server refused the request: ${error.message}; see the server's log`,
      );
    }
  });
}

// Functions for both kinds of calls.

function* askArguments(
  tool: string,
  schema: JsonObject,
  person: Person,
  { terminal }: Environment,
): Operation<JsonObject> {
  const needed = fieldsOf(schema).some(({ required }) => required);
  // Without a terminal, call the tool: its error names the missing arguments.
  if (!needed || !terminal.interactive) return {};
  const params = {
    mode: "form",
    message: `Arguments for ${tool}`,
    requestedSchema: schema,
  } as const;
  const answer = yield* person.answer({ type: "form", params, sensitive: [] });
  if ("action" in answer && answer.action === "accept") return answer.content ?? {};
  throw new Problem("Stopped.", 130);
}

function unknownTool(name: string, tools: readonly { name: string }[]): Problem {
  const names = tools.map((tool) => tool.name).join(", ");
  return new Problem(
    `Cannot call "${name}": there is no such tool; ${
      names ? `choose one of: ${names}` : "no other tool is available either"
    }`,
    USAGE,
  );
}
