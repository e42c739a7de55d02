/** Where the apps keep their lists of MCP servers, and how they write an entry. */
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { McpAppName } from "../mcp-app-names.ts";

/** A server, as the app starts it or finds it. */
export type ServerEntry =
  | { readonly command: string; readonly args: readonly string[] }
  | { readonly url: string };

export interface McpApp {
  readonly title: string;
  /** The file for everything that the person does. */
  readonly userFile: (machine: Machine) => string;
  /** The file for one project, in its folder. */
  readonly projectFile?: string;
  /** The object in the file that holds the servers. */
  readonly section: "mcpServers" | "servers";
  /** The entry as the app writes it; nothing if it cannot take such a one. */
  readonly entry: (server: ServerEntry) => object | undefined;
  /** What to do to see it. */
  readonly next: string;
}

/** What decides where things are. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: { readonly [name: string]: string | undefined };
}

export function thisMachine(): Machine {
  return { platform: process.platform, home: homedir(), env: process.env };
}

export const MCP_APPS: { readonly [name in McpAppName]: McpApp } = {
  "claude-desktop": {
    title: "Claude Desktop",
    userFile: (machine) => join(appData(machine), "Claude", "claude_desktop_config.json"),
    section: "mcpServers",
    entry: (server) => "url" in server ? undefined : server,
    next: "Quit Claude Desktop and start it again.",
  },
  "claude-code": {
    title: "Claude Code",
    userFile: ({ home, env }) => join(env.CLAUDE_CONFIG_DIR || home, ".claude.json"),
    projectFile: ".mcp.json",
    section: "mcpServers",
    entry: typed,
    next: "Start claude anew; /mcp shows it.",
  },
  "vscode": {
    title: "VS Code",
    userFile: (machine) => join(appData(machine), "Code", "User", "mcp.json"),
    projectFile: join(".vscode", "mcp.json"),
    section: "servers",
    entry: typed,
    next: 'Run "MCP: List Servers" from the command palette and start it.',
  },
  "cursor": {
    title: "Cursor",
    userFile: ({ home }) => join(home, ".cursor", "mcp.json"),
    projectFile: join(".cursor", "mcp.json"),
    section: "mcpServers",
    entry: (server) => server,
    next: "Look under Cursor Settings, Tools & MCP, and switch it on.",
  },
};

function typed(server: ServerEntry): object {
  return { type: "url" in server ? "http" : "stdio", ...server };
}

function appData({ platform, home, env }: Machine): string {
  switch (platform) {
    case "darwin":
      return join(home, "Library", "Application Support");
    case "win32":
      return env.APPDATA || join(home, "AppData", "Roaming");
    default:
      return env.XDG_CONFIG_HOME || join(home, ".config");
  }
}
