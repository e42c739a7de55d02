/** Requests that run a definition: calling a tool, getting a prompt, reading a resource. */
import { canElicitForm, canElicitUrl, WAY_TO_SIGN_IN } from "../ask/elicit.ts";
import { isObject } from "../lib/json.ts";
import type { JsonObject } from "../model/content.ts";
import { ProtocolError } from "../model/errors.ts";
import type { ClientInfo } from "../model/events.ts";
import { INVALID_PARAMS } from "../model/rpc-codes.ts";
import type { DoorPort } from "../run/run-port.ts";
import { bytesOf } from "../session/estimate-size.ts";
import type { ServerSite } from "../tool/site.ts";
import type { Definition, FinalizedMcpTool } from "../tool/types.ts";
import type { CheckedCaller } from "./access.ts";
import type { FoundResource } from "./catalog.ts";
import type { ServerCore } from "./core.ts";
import { doorTools } from "./doors/door-tools.ts";
import { skillFileAt } from "./skills.ts";
import { withoutTicket } from "./doors/readings.ts";
import { canShowApps, isForApps, UI_EXTENSION, viewAt } from "./views.ts";

/** True if a method runs a definition, so that its response may need a stream. */
export function isRun(method: string): boolean {
  return method === "tools/call" || method === "prompts/get" || method === "resources/read";
}

/** The definition to run, and its arguments. */
export interface Target {
  readonly definition: Definition;
  readonly args: unknown;
}

/** Finds the target of a request. `resourceNotFound` is the era's code for an unknown resource. */
export function targetOf(
  core: ServerCore,
  method: string,
  params: JsonObject,
  resourceNotFound: number,
  caller: CheckedCaller,
): Target | undefined {
  switch (method) {
    case "tools/call":
      return named(core, core.catalog.tools, "tool", params, caller, () => doorTools(core.catalog));
    case "prompts/get":
      return named(core, core.catalog.prompts, "prompt", params, caller);
    case "resources/read": {
      const uri = withoutTicket(params.uri);
      const found = resourceAt(core, uri, caller);
      if (found) core.access.check(found.resource, caller);
      if (found) return { definition: found.resource, args: { ...found.variables, uri } };
      if (typeof uri !== "string") {
        throw new ProtocolError(
          INVALID_PARAMS,
          "Cannot read a resource: its uri is missing; add it",
        );
      }
      throw new ProtocolError(
        resourceNotFound,
        `Cannot read resource "${uri}": there is no such resource; list the resources to see which exist`,
        { uri },
      );
    }
  }
  return undefined;
}

/** Maximum number of subscriptions per client. Without it, a template would allow any number. */
export const MAX_SUBSCRIPTIONS = 1_000;

/** Approximate size of a resource subscription in memory, in bytes. */
export function sizeOfUri(uri: string): number {
  return 64 + bytesOf(uri);
}

/** Maximum length of a URI. Matching a template against a very long URI would take too long. */
const MAX_URI_LENGTH = 4096;

/** The resource at a URI. Undefined if there is none, or the caller cannot see it. */
export function resourceAt(
  { catalog, access }: ServerCore,
  uri: unknown,
  { who }: CheckedCaller,
): FoundResource | undefined {
  if (typeof uri !== "string" || uri.length > MAX_URI_LENGTH) return undefined;
  const found = catalog.findResource(uri);
  const resource = found?.resource ?? viewAt(catalog, uri) ?? skillFileAt(catalog, uri);
  if (!resource || !access.shows(resource, who)) return undefined;
  return found ?? { resource, variables: {} };
}

function named(
  { access }: ServerCore,
  shelf: ReadonlyMap<string, Definition>,
  kind: string,
  { name, arguments: args = {} }: JsonObject,
  caller: CheckedCaller,
  others: () => readonly Definition[] = () => [],
): Target {
  if (typeof name !== "string") {
    throw new ProtocolError(INVALID_PARAMS, `Cannot find a ${kind}: its name is missing; add it`);
  }
  const definition = shelf.get(name) ?? others().find((other) => other.name === name);
  if (!definition || definition.scopes && !access.shows(definition, caller.who)) {
    throw new ProtocolError(
      INVALID_PARAMS,
      `Cannot find ${kind} "${name}": there is no such ${kind}; list the ${kind}s to see which exist`,
    );
  }
  if (!isObject(args)) {
    throw new ProtocolError(
      INVALID_PARAMS,
      `Cannot call ${kind} "${name}": its arguments are not an object; pass an object`,
    );
  }
  if (definition.scopes) access.check(definition, caller);
  return { definition, args };
}

/** The capabilities that a definition requires and the client lacks, in the format of MCP. */
export function missingCapabilities(
  definition: Pick<Definition, "requires"> & Pick<FinalizedMcpTool, "visibility">,
  client: ClientInfo,
  doors?: DoorPort,
  principal = "",
): JsonObject | undefined {
  if (definition.visibility && isForApps(definition) && !canShowApps(client)) {
    return { extensions: { [UI_EXTENSION]: {} } };
  }
  const { elicitation, sampling, roots } = definition.requires;
  if (!elicitation && !sampling && !roots) return undefined;
  const missing: { [capability: string]: JsonObject } = {};
  if (elicitation === "url") {
    if (!canElicitUrl(client)) missing.elicitation = { url: {} };
  } else if (elicitation === true && doors && (definition as Definition).elicits.size > 0) {
    const tool = definition as Definition;
    const call = { client, principal, tool };
    const forms = [...tool.elicits.values()];
    if (forms.some((form) => !doors.choose(call, form, [], false))) missing.elicitation = {};
  } else if (elicitation && !canElicitForm(client)) missing.elicitation = {};
  if (sampling && doors?.modelByCaller) {
    // Nothing is missing, because the model that called the tool can answer.
  } else if (sampling === "tools") {
    if (!client.capabilities.sampling?.tools) missing.sampling = { tools: {} };
  } else if (sampling && !client.capabilities.sampling) missing.sampling = {};
  if (roots && !client.capabilities.roots) missing.roots = {};
  return Object.keys(missing).length > 0 ? missing : undefined;
}

/**
 * Returns the next step for a caller whose client lacks capabilities. A page can show a question,
 * if browsers can reach it.
 */
export function wayOut(
  { requires, elicits }: Definition,
  missing: JsonObject,
  { url, local, doors }: ServerSite & { readonly doors: DoorPort },
  principal: string,
): string {
  const asksSignedIn = [...elicits.values()].some(({ by }) => by === "signed-in");
  if (missing.elicitation && asksSignedIn && !doors.canSignIn?.(principal)) return WAY_TO_SIGN_IN;
  const needsPage = requires.elicitation === true && missing.elicitation && !local;
  return needsPage && url === undefined
    ? "use a client that does, or start the server with --public-url, so that a browser can show the question"
    : "use a client that does";
}

/** The error message for a batch with too many messages. */
export function tooLongABatch(count: number, most: number): string {
  return `Cannot accept the batch: it has ${count} messages; send at most ${most} at once`;
}

/** A running call, for transports. */
export type { LiveToolSession } from "../session/tool-session.ts";
