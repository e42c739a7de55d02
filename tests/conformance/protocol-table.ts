/**
 * Every method, notification and capability of the protocol, and what Parley does with it. A test
 * compares this table with the official JSON schemas, and asks a server. docs/protocol.md shows it.
 */
import { readText } from "../harness/files.ts";

/** The revisions with an official JSON schema. */
export const REVISIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const;
export type Revision = typeof REVISIONS[number];

export type EntryKind =
  | "request to the server"
  | "request to the client"
  | "notification to the server"
  | "notification to the client"
  | "capability of the client"
  | "capability of the server";

export interface Entry {
  readonly kind: EntryKind;
  readonly name: string;
  /** What Parley does with it. */
  readonly does: string;
  /** The revisions that define it, but in which Parley does not support it. */
  readonly unsupported?: readonly Revision[];
  /** Present if an extension defines it: the revisions in which Parley supports it. */
  readonly extension?: readonly Revision[];
}

const MODERN = ["2026-07-28"] as const;
const TASKS_2025 =
  "The core tasks of 2025-11-25 were withdrawn. In 2026-07-28, tasks are an extension.";

const entries = (kind: EntryKind, all: { [name: string]: string | Omit<Entry, "kind" | "name"> }) =>
  Object.entries(all).map(([name, entry]): Entry => ({
    kind,
    name,
    ...(typeof entry === "string" ? { does: entry } : entry),
  }));

/** The table. The order is that of docs/protocol.md. */
export const TABLE: readonly Entry[] = [
  ...entries("request to the server", {
    "initialize": "Opens a client session.",
    "server/discover": "Returns versions, capabilities and instructions.",
    "ping": "Returns an empty result.",
    "tools/list": "Lists tools in pages. With hidden scopes, lists what the caller may see.",
    "tools/call": "Runs a tool. A durable call survives a restart.",
    "prompts/list": "Lists prompts in pages.",
    "prompts/get": "Runs a prompt, which may ask like a tool.",
    "resources/list": "Lists resources and skills in pages.",
    "resources/templates/list": "Lists URI templates in pages.",
    "resources/read": "Reads a resource, a file of a skill, or a view.",
    "resources/subscribe": "Subscribes the client session to changes of a resource.",
    "resources/unsubscribe": "Ends the subscription.",
    "subscriptions/listen": "Opens a stream of changes of lists, resources and tasks.",
    "completion/complete": "Suggests values for arguments of prompts and variables of templates.",
    "logging/setLevel": "Sets the lowest level of messages for the client session.",
    "tasks/get": {
      does: "Returns the state of a task.",
      unsupported: ["2025-11-25"],
      extension: MODERN,
    },
    "tasks/cancel": { does: "Cancels a task.", unsupported: ["2025-11-25"], extension: MODERN },
    "tasks/update": { does: "Answers the questions of a task.", extension: MODERN },
    "tasks/list": { does: TASKS_2025, unsupported: ["2025-11-25"] },
    "tasks/result": { does: TASKS_2025, unsupported: ["2025-11-25"] },
    "skills/list": { does: "Lists skills with the digests of their files.", extension: REVISIONS },
    "skills/get": { does: "Returns one skill.", extension: REVISIONS },
    "resources/directory/read": { does: "Lists a folder of a skill.", extension: REVISIONS },
  }),
  ...entries("request to the client", {
    "elicitation/create":
      "Asks the person. Clients of 2026-07-28 get the question in an `input_required` result.",
    "sampling/createMessage": "Asks the model of the client. Deprecated in 2026-07-28.",
    "roots/list": "Asks for the roots. Deprecated in 2026-07-28.",
    "ping": {
      does: "Not sent. Streams carry keep-alive comments instead.",
      unsupported: ["2025-03-26", "2025-06-18", "2025-11-25"],
    },
    "tasks/get": { does: TASKS_2025, unsupported: ["2025-11-25"] },
    "tasks/result": { does: TASKS_2025, unsupported: ["2025-11-25"] },
    "tasks/cancel": { does: TASKS_2025, unsupported: ["2025-11-25"] },
    "tasks/list": { does: TASKS_2025, unsupported: ["2025-11-25"] },
  }),
  ...entries("notification to the server", {
    "notifications/initialized": "Accepted.",
    "notifications/cancelled":
      "Cancels the call. In 2026-07-28 only over stdio; over HTTP, clients close the connection.",
    "notifications/progress": "Accepted, and not used: Parley asks clients for no progress.",
    "notifications/roots/list_changed":
      "Accepted. Tools ask for the roots each time they need them.",
    "notifications/tasks/status": { does: TASKS_2025, unsupported: ["2025-11-25"] },
  }),
  ...entries("notification to the client", {
    "notifications/progress": "Sent by `ctx.notify`, and while a call waits.",
    "notifications/message": "Sent by `ctx.log`.",
    "notifications/cancelled": {
      does:
        "Sent when a question is withdrawn. In 2026-07-28, streams of changes end with a response.",
      unsupported: MODERN,
    },
    "notifications/tools/list_changed": "Sent when tools were added or removed.",
    "notifications/prompts/list_changed": "Sent when prompts were added or removed.",
    "notifications/resources/list_changed": "Sent when resources or skills were added or removed.",
    "notifications/resources/updated": "Sent to clients that subscribed to the resource.",
    "notifications/elicitation/complete": "Sent when a question was answered on a page.",
    "notifications/subscriptions/acknowledged": "Sent first on a stream of changes.",
    "notifications/tasks": { does: "Sent when a task changes.", extension: MODERN },
    "notifications/tasks/status": { does: TASKS_2025, unsupported: ["2025-11-25"] },
  }),
  ...entries("capability of the client", {
    "elicitation": "Forms, and links to pages (`url`). Without it, Parley asks in other ways.",
    "sampling": "`ctx.sample`. Without it, the server's own model answers, if there is one.",
    "roots": "`ctx.roots`.",
    "tasks": { does: TASKS_2025, unsupported: ["2025-11-25"] },
    "extensions":
      "Apps (`io.modelcontextprotocol/ui`) and tasks (`io.modelcontextprotocol/tasks`).",
    "experimental": {
      does: "Not used.",
      unsupported: REVISIONS,
    },
  }),
  ...entries("capability of the server", {
    "tools": "With `listChanged`, if there are tools.",
    "prompts": "With `listChanged`, if there are prompts.",
    "resources": "With `listChanged` and `subscribe`, if there are resources or skills.",
    "completions": "If a prompt or resource suggests values.",
    "logging": "Always.",
    "extensions": {
      does: "Apps, tasks (2026-07-28) and skills, if there are such tools and skills.",
      extension: ["2025-03-26", "2025-06-18", "2025-11-25"],
    },
    "tasks": { does: TASKS_2025, unsupported: ["2025-11-25"] },
    "experimental": { does: "Not used.", unsupported: REVISIONS },
  }),
];

/** Whether Parley supports an entry in a revision. Undefined if the revision does not have it. */
export function supports(entry: Entry, revision: Revision): boolean | undefined {
  if (entry.extension?.includes(revision)) return true;
  if (entry.unsupported?.includes(revision)) return false;
  return officialNames(revision)[entry.kind].has(entry.name) ? true : undefined;
}

type Official = { readonly [kind in EntryKind]: ReadonlySet<string> };
const read = new Map<Revision, Official>();

/** The names in the JSON schema of a revision. */
export function officialNames(revision: Revision): Official {
  let official = read.get(revision);
  if (!official) read.set(revision, official = readOfficial(revision));
  return official;
}

interface Definition {
  readonly anyOf?: readonly { readonly $ref: string }[];
  readonly $ref?: string;
  readonly properties?: { readonly [name: string]: { readonly const?: string } };
}

function readOfficial(revision: Revision): Official {
  const schema = JSON.parse(readText(`tests/fixtures/schemas/mcp-${revision}.json`));
  const all = (schema.$defs ?? schema.definitions) as { readonly [name: string]: Definition };
  const methods = (union: string) => {
    const { anyOf, $ref } = all[union] ?? {};
    const members = anyOf?.map(({ $ref }) => $ref) ?? ($ref ? [$ref] : []);
    return new Set(members.map((ref) => all[ref.split("/").at(-1)!]!.properties!.method!.const!));
  };
  // Clients of 2026-07-28 get requests in results.
  const asked = all.InputRequest ? methods("InputRequest") : methods("ServerRequest");
  const keys = (name: string) => new Set(Object.keys(all[name]!.properties!));
  return {
    "request to the server": methods("ClientRequest"),
    "request to the client": asked,
    "notification to the server": methods("ClientNotification"),
    "notification to the client": methods("ServerNotification"),
    "capability of the client": keys("ClientCapabilities"),
    "capability of the server": keys("ServerCapabilities"),
  };
}

/** The table of docs/protocol.md. */
export function protocolMarkdown(): string {
  const kinds = [...new Set(TABLE.map(({ kind }) => kind))];
  return kinds.flatMap((kind) => [
    `### ${kind[0]!.toUpperCase()}${kind.slice(1).replace(/(?<=^\w+)y?(?= )/, plural)}`,
    "",
    `| name | ${REVISIONS.join(" | ")} | what Parley does |`,
    `| --- | ${REVISIONS.map(() => "---").join(" | ")} | --- |`,
    ...TABLE.filter((entry) => entry.kind === kind).map((entry) => {
      const cells = REVISIONS.map((revision) => cellOf(entry, revision));
      return `| \`${entry.name}\` | ${cells.join(" | ")} | ${entry.does} |`;
    }),
    "",
  ]).join("\n").trimEnd();
}

function plural(end: string): string {
  return end === "y" ? "ies" : `${end}s`;
}

function cellOf(entry: Entry, revision: Revision): string {
  switch (supports(entry, revision)) {
    case undefined:
      return "";
    case false:
      return "no";
    case true:
      return entry.extension?.includes(revision) ? "extension" : "yes";
  }
}
