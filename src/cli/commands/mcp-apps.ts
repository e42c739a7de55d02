/** The configuration files of the apps, and their format for an MCP server. */
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { McpAppName } from "../mcp-app-names.ts";

/** A server: a program that the app starts, or a URL. */
export type ServerEntry =
  | {
    readonly command: string;
    readonly args: readonly string[];
    readonly env?: { readonly [name: string]: string | undefined };
  }
  | { readonly url: string };

export interface McpApp {
  readonly title: string;
  /** The configuration file for all of the user's projects. */
  readonly userFile: (machine: Machine) => string;
  /** The configuration file for one project, relative to the project's folder. */
  readonly projectFile?: string;
  /** The key of the object that contains the servers. */
  readonly section: "mcpServers" | "servers";
  /** The entry in the app's format. Undefined if the app does not support such a server. */
  readonly entry: (server: ServerEntry) => object | undefined;
  /** The next step for the person, printed after the installation. */
  readonly next: string;
}

/** The facts about this machine that decide where the files are. */
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
    next: "Restart claude. The command /mcp then lists the server.",
  },
  "vscode": {
    title: "VS Code",
    userFile: (machine) => join(appData(machine), "Code", "User", "mcp.json"),
    projectFile: join(".vscode", "mcp.json"),
    section: "servers",
    entry: typed,
    next: 'Run "MCP: List Servers" from the command palette and start the server.',
  },
  "cursor": {
    title: "Cursor",
    userFile: ({ home }) => join(home, ".cursor", "mcp.json"),
    projectFile: join(".cursor", "mcp.json"),
    section: "mcpServers",
    entry: (server) => server,
    next: "Open Cursor Settings, Tools & MCP, and enable the server.",
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
