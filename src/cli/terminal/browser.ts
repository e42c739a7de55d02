/** Opens pages with the command in the environment variable BROWSER. */
import { delimiter } from "node:path";
import process from "node:process";
import { type Operation, until } from "effection";

export function hasBrowser(): boolean {
  return commands().length > 0;
}

/**
 * Opens a page. Returns false if no command can be started. The browser belongs to the person, so
 * Parley neither waits for it nor ends it.
 */
export function* openBrowser(page: URL): Operation<boolean> {
  for (const command of commands()) {
    if (yield* until(started(argumentsOf(command, page.href)))) return true;
  }
  return false;
}

/**
 * The command that opens pages on this desktop. Undefined if nothing shows that there is a desktop.
 * Apps start a server with few environment variables, so a missing SSH variable does not prove that
 * the session is local.
 */
export function desktopBrowser(
  env: { readonly [name: string]: string | undefined } = process.env,
  platform: string = process.platform,
): string | undefined {
  if (env["CI"] || env["SSH_CONNECTION"] || env["SSH_TTY"]) return undefined;
  if (env["BROWSER"]) return env["BROWSER"];
  switch (platform) {
    case "darwin":
      return env["TERM_PROGRAM"] ? "open" : undefined;
    case "win32":
      return env["SESSIONNAME"] === "Console" ? "rundll32 url.dll,FileProtocolHandler" : undefined;
    default:
      return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? "xdg-open" : undefined;
  }
}

const OPENERS: { readonly [platform: string]: string | undefined } = {
  darwin: "open",
  win32: "rundll32 url.dll,FileProtocolHandler",
};

/** Opens a page in the browser of this desktop, without waiting for it. */
export function startBrowser(url: string): void {
  const command = desktopBrowser() ?? OPENERS[process.platform] ?? "xdg-open";
  void started(argumentsOf(command, url));
}

/** By convention, BROWSER can be a list, and the URL replaces `%s`. */
function commands(): string[] {
  return (process.env["BROWSER"] ?? "").split(delimiter).map((one) => one.trim()).filter((one) =>
    one !== ""
  );
}

function argumentsOf(command: string, url: string): string[] {
  const words = command.split(/\s+/);
  if (!command.includes("%s")) return [...words, url];
  return words.map((word) => word.replaceAll("%s", () => url));
}

/** Starts a program without a shell, because the URL comes from a server. */
async function started([program = "", ...args]: readonly string[]): Promise<boolean> {
  const { spawn } = await import("node:child_process");
  return await new Promise((resolve) => {
    try {
      const child = spawn(program, args, { stdio: "ignore", detached: true });
      child.once("error", () => resolve(false));
      child.once("spawn", () => {
        child.unref();
        resolve(true);
      });
    } catch {
      resolve(false);
    }
  });
}
