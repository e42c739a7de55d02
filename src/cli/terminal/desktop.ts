/**
 * Finds out whether a browser can be opened where a person sees it.
 *
 * DESKTOP-1  Only positive evidence counts. Clients start a stdio server with few environment
 *            variables, so a missing variable proves nothing.
 * DESKTOP-2  Evidence of a remote session, a container or CI outweighs evidence of a desktop.
 */
import { accessSync, constants, readdirSync, readFileSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";

interface Variables {
  readonly [name: string]: string | undefined;
}

/** The functions with which this file examines the machine. Tests replace them. */
export interface DesktopMachine {
  readonly platform: string;
  readonly env: Variables;
  readonly pid: number;
  readonly uid: number;
  /** The content of a file. Undefined if it cannot be read. */
  readonly read: (path: string) => string | undefined;
  /** The names in a folder. Empty if it cannot be read. */
  readonly list: (folder: string) => readonly string[];
  /** The user id of a file's owner. Undefined if there is no such file. */
  readonly ownerOf: (path: string) => number | undefined;
  /** True if a program can be started, by its path or by its name in PATH. */
  readonly hasProgram: (program: string) => boolean;
  /** The output of a program. Undefined if it fails. */
  readonly run: (program: string, args: readonly string[]) => string | undefined;
}

/** The command that opens pages on a desktop. */
export interface Desktop {
  /** The command; the URL is its last argument, or replaces `%s`. */
  readonly command: string;
  /** The variables that the command needs in addition to those of this process. */
  readonly env: Variables;
}

/** The variables with which a program on Linux finds the display, and the person's browser. */
const DISPLAY_VARIABLES = [
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "XAUTHORITY",
  "XDG_RUNTIME_DIR",
  "XDG_CURRENT_DESKTOP",
  "DBUS_SESSION_BUS_ADDRESS",
] as const;

const REMOTE_VARIABLES = ["CI", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"] as const;
/** Programs that start the sessions of people on other machines. */
const REMOTE = /^(sshd|dropbear|mosh-server|etterminal|tailscaled)/;
/** Programs whose sessions a person can attach to later, from any machine. */
const MULTIPLEXER = /^(tmux|screen|zellij)/i;
const OPENERS = ["xdg-open", "sensible-browser", "x-www-browser"];
/** Maximum number of parent processes to read. No real chain of processes is this long. */
const MAX_ANCESTORS = 64;

/** The desktop of this machine. Undefined if nothing shows that there is one (DESKTOP-1). */
export function findDesktop(machine: DesktopMachine = thisMachine()): Desktop | undefined {
  const { env, platform } = machine;
  if (isRemote(env)) return undefined;
  switch (platform) {
    case "darwin":
      return onMac(machine);
    case "win32":
      return onWindows(machine);
    default:
      return onLinux(machine);
  }
}

/**
 * The display variables of this process, for the configuration of an app that starts servers
 * without them. Empty if they name no local display.
 */
export function displayVariables(machine: DesktopMachine = thisMachine()): Variables {
  const { env, platform } = machine;
  if (platform === "darwin" || platform === "win32" || isRemote(env)) return {};
  return displayIn(machine, env) ?? {};
}

function onLinux(machine: DesktopMachine): Desktop | undefined {
  const { env } = machine;
  if (isContainer(machine)) return undefined;
  const ancestors = ancestorsOf(machine);
  // DESKTOP-2
  if (ancestors.some(({ name, env }) => REMOTE.test(name) || isRemote(env))) return undefined;
  const isDetached = ancestors.some(({ name }) => MULTIPLEXER.test(name));
  let display = displayIn(machine, env);
  for (const ancestor of ancestors) display ??= displayIn(machine, ancestor.env);
  if (!isDetached) display ??= displayOf(machine);
  const wanted = env["BROWSER"];
  if (wanted) {
    return canStart(machine, wanted) ? { command: wanted, env: display ?? {} } : undefined;
  }
  const opener = display && OPENERS.find(machine.hasProgram);
  return opener === undefined ? undefined : { command: opener, env: display! };
}

function onMac({ env, run, pid }: DesktopMachine): Desktop | undefined {
  // Processes of a desktop session belong to the manager "Aqua". Those of SSH and of daemons do not.
  if (run("launchctl", ["managername"])?.trim() !== "Aqua") return undefined;
  const processes = new Map<number, { readonly parent: number; readonly name: string }>();
  for (const line of (run("ps", ["-axo", "pid=,ppid=,comm="]) ?? "").split("\n")) {
    const [, child, parent, command = ""] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    const name = command.split("/").at(-1)!;
    processes.set(Number(child), { parent: Number(parent), name });
  }
  let found = processes.get(pid);
  for (let count = 0; found && count < MAX_ANCESTORS; count++) {
    if (REMOTE.test(found.name)) return undefined;
    found = processes.get(found.parent);
  }
  return { command: env["BROWSER"] || "open", env: {} };
}

function onWindows({ env, pid, run }: DesktopMachine): Desktop | undefined {
  // Services and SSH run in session 0, which has no desktop. Clients rarely pass SESSIONNAME.
  const session = env["SESSIONNAME"] ??
    /^"[^"]*","\d+","([^"]*)","\d+"/.exec(
      run("tasklist", ["/FI", `PID eq ${pid}`, "/FO", "CSV", "/NH"])?.trim() ?? "",
    )?.[1];
  if (session === undefined || !/^(Console|RDP-)/i.test(session)) return undefined;
  return { command: env["BROWSER"] || "rundll32 url.dll,FileProtocolHandler", env: {} };
}

function isRemote(env: Variables): boolean {
  return Boolean(
    env["CI"] || env["SSH_CONNECTION"] || env["SSH_CLIENT"] || env["SSH_TTY"],
  );
}

/**
 * True inside a container. The person's browser cannot reach the loopback addresses of a container.
 */
function isContainer({ env, ownerOf }: DesktopMachine): boolean {
  // Flatpak isolates programs too, but they share the network and the desktop.
  if (env["container"]) return env["container"] !== "flatpak";
  return ownerOf("/.dockerenv") !== undefined || ownerOf("/run/.containerenv") !== undefined;
}

interface Ancestor {
  readonly name: string;
  /** The environment variables with which the process was started. Empty if they cannot be read. */
  readonly env: Variables;
}

/** The processes that started this one, the nearest first. */
function ancestorsOf({ pid, read }: DesktopMachine): Ancestor[] {
  const found: Ancestor[] = [];
  let next = parentIn(read(`/proc/${pid}/stat`));
  while (next && next.pid > 1 && found.length < MAX_ANCESTORS) {
    const stat = read(`/proc/${next.pid}/stat`);
    if (stat === undefined) break;
    // The name of the process is in parentheses, and may itself contain parentheses.
    const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
    found.push({ name, env: variablesIn(read(`/proc/${next.pid}/environ`) ?? "") });
    next = parentIn(stat);
  }
  return found;
}

function parentIn(stat: string | undefined): { readonly pid: number } | undefined {
  const [, parent] = stat?.slice(stat.lastIndexOf(")") + 1).trim().split(" ") ?? [];
  return parent === undefined ? undefined : { pid: Number(parent) };
}

/** Takes only the variables that are needed, because others can be secrets. */
function variablesIn(environ: string): Variables {
  const wanted = new Set<string>([...DISPLAY_VARIABLES, ...REMOTE_VARIABLES]);
  const found: { [name: string]: string } = {};
  for (const pair of environ.split("\0")) {
    const at = pair.indexOf("=");
    if (at > 0 && wanted.has(pair.slice(0, at))) found[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return found;
}

/** The display variables in an environment. Undefined if they name no display of this machine. */
function displayIn(machine: DesktopMachine, env: Variables): Variables | undefined {
  const isThere = hasWayland(machine, env, env["WAYLAND_DISPLAY"] ?? "") ||
    hasX11(machine, env["DISPLAY"] ?? "");
  if (!isThere) return undefined;
  return Object.fromEntries(
    DISPLAY_VARIABLES.flatMap((name) => env[name] ? [[name, env[name]]] : []),
  );
}

function hasWayland(machine: DesktopMachine, env: Variables, name: string): boolean {
  if (name === "") return false;
  const path = name.startsWith("/") ? name : join(runtimeFolder(machine, env), name);
  return machine.ownerOf(path) !== undefined;
}

/**
 * True if an X11 display is on this machine. A display with a host name is forwarded from another
 * machine, usually by SSH.
 */
function hasX11({ ownerOf, read }: DesktopMachine, display: string): boolean {
  const [, number] = /^(?:unix)?:(\d+)(?:\.\d+)?$/.exec(display) ?? [];
  if (number === undefined) return false;
  const socket = `/tmp/.X11-unix/X${number}`;
  return ownerOf(socket) !== undefined ||
    (read("/proc/net/unix") ?? "").split("\n").some((line) => line.endsWith(` @${socket}`));
}

/** The display that belongs to this user, found by its socket. */
function displayOf(machine: DesktopMachine): Variables | undefined {
  const { list, ownerOf, uid, env } = machine;
  const runtime = runtimeFolder(machine, env);
  const wayland = list(runtime).find((name) => /^wayland-\d+$/.test(name));
  const x11 = list("/tmp/.X11-unix").find((name) =>
    /^X\d+$/.test(name) && ownerOf(`/tmp/.X11-unix/${name}`) === uid
  );
  if (wayland === undefined && x11 === undefined) return undefined;
  return {
    XDG_RUNTIME_DIR: runtime,
    ...(wayland !== undefined && { WAYLAND_DISPLAY: wayland }),
    ...(x11 !== undefined && { DISPLAY: `:${x11.slice(1)}` }),
  };
}

function runtimeFolder({ uid }: DesktopMachine, env: Variables): string {
  return env["XDG_RUNTIME_DIR"] || `/run/user/${uid}`;
}

/** True if one of the commands in a list can be started. BROWSER can be such a list. */
function canStart({ hasProgram }: DesktopMachine, commands: string): boolean {
  return commands.split(delimiter).some((command) => hasProgram(command.trim().split(/\s+/)[0]!));
}

function thisMachine(): DesktopMachine {
  const { platform, env, pid } = process;
  return {
    platform,
    env,
    pid,
    uid: process.getuid?.() ?? -1,
    read: (path) => attempt(() => readFileSync(path, "utf8")),
    list: (folder) => attempt(() => readdirSync(folder)) ?? [],
    ownerOf: (path) => attempt(() => statSync(path).uid),
    hasProgram,
    run(program, args) {
      // Load the module only here, because an import at the top would slow down every start.
      const { spawnSync } = process.getBuiltinModule("node:child_process");
      const { status, stdout } = spawnSync(program, args, {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
        timeout: 2_000,
        windowsHide: true,
      });
      return status === 0 ? stdout : undefined;
    },
  };
}

function hasProgram(program: string): boolean {
  const paths = program.includes("/")
    ? [program]
    : (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, program));
  return paths.some((path) =>
    attempt(() => {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    }) ?? false
  );
}

/**
 * Returns the result of `act`. Undefined if it throws, because a file is missing or cannot be read.
 */
function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
