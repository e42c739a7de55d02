/** The tools, prompts, resources and skills of a server, by name, in the order of addition. */
import type { JsonObject } from "../model/content.ts";
import { DefinitionError } from "../model/errors.ts";
import type { ClientInfo } from "../model/events.ts";
import type { FinalizedMcpPrompt, FinalizedMcpResource, FinalizedMcpTool } from "../tool/types.ts";
import type { FinalizedMcpSkill, Served } from "../tool/skill.ts";
import type { ServerCore } from "./core.ts";
import { doorTools } from "./doors/door-tools.ts";
import { skillCapabilities } from "./skills.ts";
import { viewCapabilities } from "./views.ts";

/** The resource for a URI, with the variables that its URI template matched. */
export interface FoundResource {
  readonly resource: FinalizedMcpResource;
  readonly variables: { readonly [variable: string]: string };
}

/**
 * The type of `this` in methods that change the version. For other code, the version is read-only.
 */
type Own = { -readonly [K in keyof Catalog]: Catalog[K] };

export class Catalog {
  readonly tools = new Map<string, FinalizedMcpTool>();
  readonly prompts = new Map<string, FinalizedMcpPrompt>();
  readonly resources = new Map<string, FinalizedMcpResource>();
  readonly skills = new Map<string, FinalizedMcpSkill>();
  readonly #shelves: { readonly [K in Served["kind"]]: Map<string, Served> } = {
    tool: this.tools,
    prompt: this.prompts,
    resource: this.resources,
    skill: this.skills,
  };
  /** Resources with a fixed URI, by URI. Templates must be matched one after another. */
  readonly #byUri = new Map<string, FinalizedMcpResource>();
  /** Increases with every change. Values computed from the catalog can be cached per version. */
  readonly version: number = 0;

  constructor(definitions: Iterable<Served> = []) {
    for (const definition of definitions) this.add(definition);
  }

  add(definition: Served): void {
    const shelf = this.#shelves[definition.kind];
    if (shelf.has(definition.name)) {
      throw new DefinitionError(
        `${definition.kind} "${definition.name}"`,
        "its name",
        "is already in use",
        "rename one of the two",
      );
    }
    shelf.set(definition.name, definition);
    if (definition.kind === "resource") {
      const resource = definition as FinalizedMcpResource;
      if (resource.uri.variables.length === 0) this.#byUri.set(resource.uri.text, resource);
    }
    (this as Own).version++;
  }

  /** Removes a definition. Returns false if there is none. */
  remove(kind: Served["kind"], name: string): boolean {
    const resource = kind === "resource" ? this.resources.get(name) : undefined;
    if (resource) this.#byUri.delete(resource.uri.text);
    const removed = this.#shelves[kind].delete(name);
    if (removed) (this as Own).version++;
    return removed;
  }

  find<K extends Served["kind"]>(kind: K, name: string): Extract<Served, { kind: K }> | undefined {
    return this.#shelves[kind].get(name) as Extract<Served, { kind: K }> | undefined;
  }

  findResource(uri: string): FoundResource | undefined {
    const plain = this.#byUri.get(uri);
    if (plain) return { resource: plain, variables: {} };
    for (const resource of this.resources.values()) {
      const variables = resource.uri.variables.length > 0 ? resource.uri.match(uri) : undefined;
      if (variables) return { resource, variables };
    }
    return undefined;
  }
}

/** The capabilities that the server declares to a client. */
export function capabilitiesFor(
  core: ServerCore,
  client: Pick<ClientInfo, "capabilities">,
  eraExtensions: object = {},
): JsonObject {
  const views = viewCapabilities(core, client);
  const own = serverCapabilities(core);
  const extensions = { ...eraExtensions, ...views.extensions, ...(own.extensions as object) };
  return {
    ...views,
    ...own,
    logging: {},
    ...(Object.keys(extensions).length > 0 && { extensions }),
  };
}

/** Capabilities per catalog, cached by version because every modern request reads them. */
const made = new WeakMap<Catalog, { readonly version: number; readonly value: JsonObject }>();

export function serverCapabilities({ catalog, arrival }: ServerCore): JsonObject {
  const known = made.get(catalog);
  if (known?.version === catalog.version) return known.value;
  const value = capabilitiesOf(catalog, arrival?.kinds ?? []);
  made.set(catalog, { version: catalog.version, value });
  return value;
}

function capabilitiesOf(catalog: Catalog, coming: readonly Served["kind"][]): JsonObject {
  const skills = catalog.skills.size > 0 || coming.includes("skill");
  const completes = [...catalog.prompts.values(), ...catalog.resources.values()]
    .some(({ completers }) => completers.size > 0);
  return {
    ...((catalog.tools.size > 0 || coming.includes("tool") || doorTools(catalog).length > 0) && {
      tools: { listChanged: true },
    }),
    ...((catalog.prompts.size > 0 || coming.includes("prompt")) && {
      prompts: { listChanged: true },
    }),
    ...((catalog.resources.size > 0 || coming.includes("resource") || skills) && {
      resources: { subscribe: true, listChanged: true },
    }),
    ...(completes && { completions: {} }),
    ...(skills && { extensions: skillCapabilities() }),
  };
}
