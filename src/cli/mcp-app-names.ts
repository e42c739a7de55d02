/** The apps that `parley install` can configure. */
export const MCP_APP_NAMES = ["claude-desktop", "claude-code", "vscode", "cursor"] as const;
export type McpAppName = typeof MCP_APP_NAMES[number];
