/**
 * `parley tools`: lists tools, prompts, resources and skills, with their parameters and questions.
 */
import { type Operation, race, scoped, until } from "effection";
import type { RemoteTool } from "../../client/server.ts";
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import { listedPrompt, listedResource, listedTemplate, listedTool } from "../../server/listing.ts";
import type {
  Definition,
  FinalizedMcpPrompt,
  FinalizedMcpResource,
  FinalizedMcpTool,
} from "../../tool/types.ts";
import type { FinalizedMcpSkill, Served } from "../../tool/skill.ts";
import type { Environment } from "../environment.ts";
import { Problem, USAGE } from "../problem.ts";
import { exitCodeOf, useSignals } from "../signals.ts";
import { fieldsOf, typeOf } from "../terminal/fields.ts";
import type { Style } from "../terminal/style.ts";
import { wrapped } from "../terminal/terminal.ts";
import { visible, visibleJson } from "../terminal/visible.ts";
import { loadDefinitions } from "./load.ts";
import { serverAddress, type ServerFlags, toolsOf, useServer } from "./remote-server.ts";
import { loadSkills } from "./skills.ts";

export interface ToolsOptions extends ServerFlags {
  /** The server whose tools are listed. Default: the tools of the modules. */
  readonly url?: string;
  readonly json?: boolean;
}

export function* tools(
  modules: readonly string[],
  options: ToolsOptions,
  environment: Environment,
): Operation<number> {
  const { terminal } = environment;
  const { url, json = false } = options;
  if (url !== undefined && modules.length > 0) {
    throw new Problem(
      "Cannot list the tools: both modules and --url are given; leave out one of them",
      USAGE,
    );
  }
  const columns = Math.min(100, terminal.columns("stdout"));
  if (url !== undefined) {
    const listed = yield* remoteTools(url, options, environment);
    // Text of a server may contain control characters.
    terminal.print(
      json
        ? visibleJson(listed, 2)
        : listed.map((one) => describedRemote(one, terminal.out, columns)).join("\n\n"),
    );
    return 0;
  }
  const skills = (yield* until(loadSkills(modules, {})))?.skills ?? [];
  const definitions = [...(yield* until(loadDefinitions(modules, environment))), ...skills];
  terminal.print(
    json
      ? JSON.stringify(definitions.map(asJson), null, 2)
      : definitions.map((one) => described(one, terminal.out, columns)).join("\n\n"),
  );
  return 0;
}

function* remoteTools(
  url: string,
  flags: ServerFlags,
  environment: Environment,
): Operation<RemoteTool[]> {
  const address = serverAddress(url);
  const signals = yield* useSignals();
  const found = yield* race([
    scoped(function* () {
      return yield* toolsOf(yield* useServer(address, flags, environment), address);
    }),
    signals.next(),
  ]);
  if (Array.isArray(found)) return found;
  throw new Problem(
    "Cannot list the tools: the command was stopped; run it again",
    exitCodeOf(found.value),
  );
}

function describedRemote(tool: RemoteTool, style: Style, columns: number): string {
  const { name, title, description, inputSchema } = tool;
  const text = (value: unknown) => typeof value === "string" ? visible(value) : "";
  const rows = parameterRows(inputSchema).map((row) => ({
    name: text(row.name),
    type: text(row.type),
    text: text(row.text),
  }));
  return [
    [style.bold(text(name)), ...(text(title) ? [style.dim(text(title))] : [])].join("  "),
    ...wrapped(text(description), columns, "  "),
    ...section("takes", rows, style, columns),
  ].join("\n");
}

function asJson(definition: Served): JsonObject {
  if (definition.kind === "skill") return skillAsJson(definition);
  const { kind, requires, elicits } = definition;
  const asks = [...elicits.values()].map(({ key, response, sensitive }) => ({
    key,
    schema: response.json,
    ...(sensitive.length > 0 && { sensitive }),
  }));
  return { kind, ...listed(definition), asks, requires } as unknown as JsonObject;
}

function listed(definition: Definition): object {
  switch (definition.kind) {
    case "tool":
      return listedTool(definition as FinalizedMcpTool);
    case "prompt":
      return listedPrompt(definition as FinalizedMcpPrompt);
    case "resource": {
      const resource = definition as FinalizedMcpResource;
      return resource.uri.variables.length > 0
        ? listedTemplate(resource)
        : listedResource(resource);
    }
  }
}

function skillAsJson({ kind, name, description, uri, files }: FinalizedMcpSkill): JsonObject {
  return { kind, name, description, uri, files: files.map(({ path, size }) => ({ path, size })) };
}

function described(definition: Served, style: Style, columns: number): string {
  if (definition.kind === "skill") return describedSkill(definition, style, columns);
  const { kind, name, parameters, elicits } = definition;
  const { title, description = "", uri } = definition as Partial<FinalizedMcpResource>;
  const heading = [
    style.bold(name),
    ...(kind === "tool" ? [] : [style.dim(`(${kind})`)]),
    ...(title ? [style.dim(title)] : []),
  ].join("  ");
  const questions = [...elicits.values()].map(({ key, response, sensitive }) => ({
    name: key,
    type: Object.keys(propertiesOf(response.json)).map((field) =>
      sensitive.includes(field) ? `${field} (hidden)` : field
    ).join(", "),
  }));
  return [
    heading,
    ...wrapped(description, columns, "  "),
    ...section("takes", kind === "resource" ? [] : parameterRows(parameters.json), style, columns),
    ...(uri ? [`  ${style.dim("address")}`, `    ${uri.text}`] : []),
    ...section("may ask", questions, style, columns),
    ...needs(definition, style),
  ].join("\n");
}

function describedSkill(skill: FinalizedMcpSkill, style: Style, columns: number): string {
  const { kind, name, description, files } = skill;
  const rows = files.map(({ path, size }) => ({ name: path, type: `${size} bytes` }));
  return [
    [style.bold(name), style.dim(`(${kind})`)].join("  "),
    ...wrapped(description, columns, "  "),
    ...section("files", rows, style, columns),
  ].join("\n");
}

interface Row {
  readonly name: string;
  readonly type: string;
  readonly text?: string | undefined;
}

function parameterRows(schema: JsonObject): Row[] {
  return fieldsOf(schema).map(({ name, schema, required }) => ({
    name: required ? name : `${name}?`,
    type: typeOf(schema),
    text: typeof schema.description === "string" ? schema.description : undefined,
  }));
}

function section(title: string, rows: readonly Row[], style: Style, columns: number): string[] {
  if (rows.length === 0) return [];
  const width = Math.max(...rows.map(({ name }) => name.length));
  return [
    `  ${style.dim(title)}`,
    ...rows.flatMap(({ name, type, text }) => [
      `    ${style.cyan(name.padEnd(width))}  ${type}`.trimEnd(),
      ...(text ? wrapped(text, columns, " ".repeat(width + 6)) : []),
    ]),
  ];
}

function needs({ requires }: Definition, style: Style): string[] {
  const wants = Object.entries(requires).filter(([, value]) => value)
    .map(([name, value]) => value === true ? name : `${name} (${value})`);
  if (wants.length === 0) return [];
  return [`  ${style.dim("needs a client with")}`, `    ${wants.join(", ")}`];
}

function propertiesOf(schema: JsonObject): JsonObject {
  return isObject(schema.properties) ? schema.properties : {};
}
