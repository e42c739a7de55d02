/** Opens pages in a browser of this machine. */
import { delimiter } from "node:path";
import process from "node:process";
import { type Operation, until } from "effection";
import { type Desktop, findDesktop } from "./desktop.ts";

/** True if the environment variable BROWSER names a command. */
export function hasBrowser(): boolean {
  return commandsIn(process.env["BROWSER"]).length > 0;
}

/**
 * Opens a page with the command in BROWSER. Returns false if no command can be started. The browser
 * belongs to the person, so Parley neither waits for it nor ends it.
 */
export function* openBrowser(page: URL): Operation<boolean> {
  return yield* until(openWith({ command: process.env["BROWSER"] ?? "", env: {} }, page.href));
}

export interface PageOpener {
  /** True if this machine has a desktop. The result of the first check is cached. */
  readonly canOpenBrowser: () => boolean;
  readonly openBrowser: (url: string) => void;
}

/**
 * Opens pages on the desktop of this machine. With `always`, opens them even if no desktop is
 * found.
 */
export function pageOpener(when: "auto" | "always", find = findDesktop): PageOpener {
  let found: { readonly desktop: Desktop | undefined } | undefined;
  const desktop = () => (found ??= { desktop: find() }).desktop;
  return {
    canOpenBrowser: () => when === "always" || desktop() !== undefined,
    openBrowser(url) {
      const command = process.env["BROWSER"] || OPENERS[process.platform] || "xdg-open";
      const chosen = desktop() ?? (when === "always" ? { command, env: {} } : undefined);
      if (chosen) void openWith(chosen, url);
    },
  };
}

const OPENERS: { readonly [platform: string]: string | undefined } = {
  darwin: "open",
  win32: "rundll32 url.dll,FileProtocolHandler",
};

/** The commands in a list. By convention, BROWSER can be such a list. */
function commandsIn(list = ""): string[] {
  return list.split(delimiter).map((one) => one.trim()).filter((one) => one !== "");
}

/** Tries the commands one after another, until one starts. */
async function openWith({ command, env }: Desktop, url: string): Promise<boolean> {
  for (const one of commandsIn(command)) {
    if (await started(argumentsOf(one, url), { ...process.env, ...env })) return true;
  }
  return false;
}

/** The words of a command. By convention, the URL replaces `%s`. */
function argumentsOf(command: string, url: string): string[] {
  const words = command.split(/\s+/);
  if (!command.includes("%s")) return [...words, url];
  return words.map((word) => word.replaceAll("%s", () => url));
}

/** Starts a program without a shell, because the URL comes from a server. */
async function started(
  [program = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<boolean> {
  const { spawn } = await import("node:child_process");
  return await new Promise((resolve) => {
    try {
      const child = spawn(program, args, { stdio: "ignore", detached: true, env });
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
