/** The apps that `parley install` knows. */
export const HOST_NAMES = ["claude-desktop", "claude-code", "vscode", "cursor"] as const;
export type HostName = typeof HOST_NAMES[number];
