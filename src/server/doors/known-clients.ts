/**
 * The known behaviour of clients when a tool asks a question. Some clients declare that they
 * support questions, but never show one to a person. `docs/clients.md` shows this table.
 */
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import type { ClientInfo } from "../../model/events.ts";

/** The known behaviour of a client. */
export interface KnownClient {
  readonly client: string;
  /** Matches the name that the client sends. */
  readonly name: RegExp;
  /** What the client declares. */
  readonly declares: string;
  /** What a person sees of a form. */
  readonly shows: string;
  /** True if the client may refuse a form without showing it to a person. */
  readonly refusesUnseen?: true;
  /**
   * The forms that no person sees, although the client declares forms: all of them, or those with a
   * number field. They are asked at another door from the start, if there is one.
   */
  readonly hides?: "all" | "numbers";
  /** True if a person or a script gives every answer, so that a quick refusal is intentional. */
  readonly isPrompt?: true;
  /** When the client gives up on a call. */
  readonly deadline: string;
  /** The source of this information. */
  readonly source: string;
}

const RUN = "run on 2026-11-18";

export const KNOWN_CLIENTS: readonly KnownClient[] = [
  {
    client: "Claude Code",
    name: /^claude-code/i,
    declares: "forms, URL",
    shows: "forms; without a terminal it answers `cancel`",
    refusesUnseen: true,
    deadline: "300 s without progress",
    source: `2.1.326, ${RUN}; anthropics/claude-code#79174, #88901`,
  },
  {
    client: "Claude Agent SDK",
    name: /^claude-agent/i,
    declares: "forms, URL",
    shows: "what its program shows",
    refusesUnseen: true,
    deadline: "300 s without progress",
    source: `0.3.326, ${RUN}`,
  },
  {
    client: "claude.ai",
    name: /^claude-?ai/i,
    declares: "MCP Apps",
    shows: "no forms; views",
    deadline: "?",
    source: "anthropics/claude-ai-mcp#153",
  },
  {
    client: "Claude Desktop",
    name: /^claude[ -]?desktop/i,
    declares: "?",
    shows: "no forms, even if it declares them; views",
    refusesUnseen: true,
    hides: "all",
    deadline: "60 s to 4 min",
    source: "anthropics/claude-code#96043, #41347",
  },
  {
    client: "Codex",
    name: /^codex/i,
    declares: "forms, URL",
    shows: "forms; a form with numbers as yes or no, and it accepts `{}`",
    refusesUnseen: true,
    hides: "numbers",
    deadline: "300 s",
    source: `0.169.0, ${RUN}; openai/codex#21277, #45621`,
  },
  {
    client: "Copilot CLI",
    name: /copilot/i,
    declares: "forms, URL, sampling",
    shows: "forms; without a terminal it answers `decline`",
    refusesUnseen: true,
    deadline: "?",
    source: `1.0.102, ${RUN}`,
  },
  {
    client: "Gemini CLI",
    name: /^gemini/i,
    declares: "nothing",
    shows: "nothing",
    deadline: "?",
    source: `0.61.0, ${RUN}`,
  },
  {
    client: "opencode",
    name: /^opencode/i,
    declares: "nothing",
    shows: "nothing",
    deadline: "?",
    source: `1.18.33, ${RUN}`,
  },
  {
    client: "mcporter",
    name: /^mcporter/i,
    declares: "nothing",
    shows: "nothing",
    deadline: "?",
    source: `0.12.3, ${RUN}`,
  },
  {
    client: "mcp-proxy",
    name: /^mcp-proxy/i,
    declares: "nothing, whatever its own client declares",
    shows: "nothing",
    deadline: "?",
    source: `6.7.19, ${RUN}`,
  },
  {
    client: "MCP Inspector",
    name: /inspector/i,
    declares: "forms, URL, sampling, MCP Apps",
    shows: "forms, also drawn by apps",
    deadline: "60 s",
    source: `2.12, ${RUN}`,
  },
  {
    client: "`parley call`",
    name: /^parley$/,
    declares: "forms, URL, sampling",
    shows: "forms, in the terminal",
    isPrompt: true,
    deadline: "none",
    source: "the test suite",
  },
];

/** The known behaviour of a client, by the name that it sends. */
export function knownClient({ name }: ClientInfo): KnownClient | undefined {
  return name === undefined ? undefined : KNOWN_CLIENTS.find((one) => one.name.test(name));
}

/** Matches the names of clients that hide forms. Most clients do not. */
export const HIDING = new RegExp(
  KNOWN_CLIENTS.filter(({ hides }) => hides).map(({ name }) => name.source).join("|"),
  "i",
);

/** True if a client declares forms, but shows no person a form with this schema. */
export function hidesForm(client: ClientInfo, { properties }: JsonObject): boolean {
  switch (knownClient(client)?.hides) {
    case "all":
      return true;
    case "numbers":
      return Object.values((properties ?? {}) as JsonObject).some((field) =>
        isObject(field) && (field.type === "number" || field.type === "integer")
      );
    default:
      return false;
  }
}
