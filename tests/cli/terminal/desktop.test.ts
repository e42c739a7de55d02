import assert from "node:assert/strict";
import process from "node:process";
import { pageOpener } from "../../../src/cli/terminal/browser.ts";
import {
  type DesktopMachine,
  displayVariables,
  findDesktop,
} from "../../../src/cli/terminal/desktop.ts";
import { describe, it } from "../../suite.ts";

interface Facts {
  readonly platform?: string;
  readonly env?: { readonly [name: string]: string };
  /** The names and variables of the processes that started the server, the nearest first. */
  readonly ancestors?:
    readonly (readonly [name: string, env?: { readonly [name: string]: string }])[];
  /** Paths, and the user ids of their owners. */
  readonly files?: { readonly [path: string]: number };
  readonly abstract?: string;
  readonly programs?: readonly string[];
  readonly outputs?: { readonly [program: string]: string };
}

const ME = 1000;
const PID = 100;

function machine(
  {
    platform = "linux",
    env = {},
    ancestors = [],
    files = {},
    abstract,
    programs = ["xdg-open"],
    outputs = {},
  }: Facts,
): DesktopMachine {
  const processes = new Map<string, string>([[
    `/proc/${PID}/stat`,
    `${PID} (deno) S ${PID - 1} 0`,
  ]]);
  ancestors.forEach(([name, variables = {}], index) => {
    const pid = PID - 1 - index;
    const parent = index === ancestors.length - 1 ? 1 : pid - 1;
    processes.set(`/proc/${pid}/stat`, `${pid} (${name}) S ${parent} 0`);
    const pairs = Object.entries(variables).map(([one, value]) => `${one}=${value}`);
    processes.set(`/proc/${pid}/environ`, pairs.join("\0"));
  });
  if (abstract !== undefined) {
    processes.set("/proc/net/unix", `Num RefCount\n0000: 2 0 @${abstract}`);
  }
  return {
    platform,
    env,
    pid: PID,
    uid: ME,
    read: (path) => processes.get(path),
    list: (folder) =>
      Object.keys(files).filter((path) => path.startsWith(`${folder}/`)).map((path) =>
        path.slice(folder.length + 1)
      ),
    ownerOf: (path) => files[path],
    hasProgram: (program) => programs.includes(program),
    run: (program) => outputs[program],
  };
}

const found = (facts: Facts) => findDesktop(machine(facts));
const command = (facts: Facts) => found(facts)?.command;

const X0 = { "/tmp/.X11-unix/X0": 0 };
const DISPLAY = { DISPLAY: ":0" };
const APP = { DISPLAY: ":0", XAUTHORITY: "/run/user/1000/auth", API_KEY: "secret" };

describe("findDesktop() on Linux", () => {
  it("finds the display in the variables of this process", () => {
    assert.deepEqual(found({ env: DISPLAY, files: X0 }), { command: "xdg-open", env: DISPLAY });
    const wayland = { WAYLAND_DISPLAY: "wayland-0", XDG_RUNTIME_DIR: "/run/user/1000" };
    const files = { "/run/user/1000/wayland-0": ME };
    assert.deepEqual(found({ env: wayland, files }), { command: "xdg-open", env: wayland });
    const abstract = "/tmp/.X11-unix/X0";
    assert.equal(command({ env: { DISPLAY: ":0.0" }, abstract }), "xdg-open");
  });

  it("finds the display of the desktop app that started the server, and takes nothing else", () => {
    const ancestors = [["node"], ["claude (1)", APP]] as const;
    const { API_KEY: _, ...env } = APP;
    assert.deepEqual(found({ ancestors, files: X0 }), { command: "xdg-open", env });
  });

  it("finds the display of this user by its socket", () => {
    const files = { "/run/user/1000/wayland-0": ME, "/tmp/.X11-unix/X1": ME };
    assert.deepEqual(found({ files })?.env, {
      XDG_RUNTIME_DIR: "/run/user/1000",
      WAYLAND_DISPLAY: "wayland-0",
      DISPLAY: ":1",
    });
    assert.equal(command({ files: { "/tmp/.X11-unix/X1": 42 } }), undefined);
    // Somebody else may be attached to a session of tmux, from elsewhere.
    assert.equal(command({ files, ancestors: [["tmux: server"]] }), undefined);
  });

  it("needs a display that is there, and that is on this machine", () => {
    assert.equal(command({}), undefined);
    assert.equal(command({ env: DISPLAY }), undefined);
    assert.equal(command({ env: { DISPLAY: "localhost:10.0" }, files: X0 }), undefined);
    assert.equal(command({ env: { WAYLAND_DISPLAY: "wayland-0" } }), undefined);
    // The variable is of an earlier session.
    const ancestors = [["app", APP]] as const;
    assert.equal(found({ env: { DISPLAY: ":7" }, files: X0, ancestors })?.env["DISPLAY"], ":0");
  });

  it("needs a program that opens pages", () => {
    assert.equal(command({ env: DISPLAY, files: X0, programs: [] }), undefined);
    const programs = ["x-www-browser"];
    assert.equal(command({ env: DISPLAY, files: X0, programs }), "x-www-browser");
  });

  it("uses the command in BROWSER, if it can be started", () => {
    const env = { BROWSER: "missing:firefox --new-tab" };
    assert.equal(command({ env, programs: ["firefox"] }), env.BROWSER);
    assert.equal(command({ env, programs: ["xdg-open"] }), undefined);
  });

  it("finds none in a remote session, in a container and in CI", () => {
    const desktop = { files: X0, env: DISPLAY };
    for (const name of ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "CI"]) {
      assert.equal(command({ ...desktop, env: { ...DISPLAY, [name]: "x" } }), undefined, name);
      const ancestors = [["bash"], ["claude", { [name]: "x" }]] as const;
      assert.equal(command({ ...desktop, ancestors }), undefined, name);
    }
    for (const name of ["sshd", "sshd-session", "mosh-server", "dropbear"]) {
      assert.equal(command({ ...desktop, ancestors: [["bash"], [name]] }), undefined, name);
    }
    for (const path of ["/.dockerenv", "/run/.containerenv"]) {
      assert.equal(command({ ...desktop, files: { ...X0, [path]: 0 } }), undefined, path);
    }
    assert.equal(command({ ...desktop, env: { ...DISPLAY, container: "podman" } }), undefined);
    assert.equal(command({ ...desktop, env: { ...DISPLAY, container: "flatpak" } }), "xdg-open");
  });
});

describe("findDesktop() on macOS", () => {
  const outputs = {
    launchctl: "Aqua\n",
    ps: "  1 0 /sbin/launchd\n 99 1 /App/Claude\n100 99 deno\n",
  };
  const mac = { platform: "darwin", outputs };

  it("finds the desktop session, without any variable", () => {
    assert.equal(command(mac), "open");
    assert.equal(
      command({ ...mac, env: { BROWSER: "/usr/bin/open -a Safari" } }),
      "/usr/bin/open -a Safari",
    );
  });

  it("finds none in other sessions", () => {
    assert.equal(
      command({ ...mac, outputs: { ...outputs, launchctl: "Background\n" } }),
      undefined,
    );
    assert.equal(command({ ...mac, outputs: {} }), undefined);
    assert.equal(command({ ...mac, env: { SSH_CONNECTION: "x" } }), undefined);
    const ps = "99 1 /usr/libexec/sshd-session\n100 99 deno\n";
    assert.equal(command({ ...mac, outputs: { ...outputs, ps } }), undefined);
  });
});

describe("findDesktop() on Windows", () => {
  const task = (session: string, number: number) => ({
    tasklist: `"deno.exe","100","${session}","${number}","50,000 K"\r\n`,
  });
  const windows = { platform: "win32" };
  const opener = "rundll32 url.dll,FileProtocolHandler";

  it("finds the desktop session, without any variable", () => {
    assert.equal(command({ ...windows, outputs: task("Console", 1) }), opener);
    assert.equal(command({ ...windows, outputs: task("RDP-Tcp#3", 2) }), opener);
    assert.equal(command({ ...windows, env: { SESSIONNAME: "Console" } }), opener);
  });

  it("finds none for services, and in other sessions", () => {
    assert.equal(command({ ...windows, outputs: task("Services", 0) }), undefined);
    assert.equal(
      command({ ...windows, outputs: { tasklist: "INFO: No tasks are running" } }),
      undefined,
    );
    assert.equal(command(windows), undefined);
    const env = { SSH_CONNECTION: "x", SESSIONNAME: "Console" };
    assert.equal(command({ ...windows, env }), undefined);
  });
});

describe("displayVariables()", () => {
  const of = (facts: Facts) => displayVariables(machine(facts));

  it("has the variables of a display that is there", () => {
    assert.deepEqual(of({ env: APP, files: X0 }), {
      DISPLAY: ":0",
      XAUTHORITY: "/run/user/1000/auth",
    });
  });

  it("is empty where apps need none, and where there is no local display", () => {
    assert.deepEqual(of({ env: APP }), {});
    assert.deepEqual(of({ env: { ...APP, SSH_TTY: "x" }, files: X0 }), {});
    assert.deepEqual(of({ platform: "darwin", env: APP, files: X0 }), {});
  });
});

describe("pageOpener()", () => {
  it("looks for the desktop once, when it is needed", () => {
    let count = 0;
    const opener = pageOpener("auto", () => void count++);
    assert.equal(count, 0);
    assert.equal(opener.canOpenBrowser(), false);
    opener.openBrowser("http://127.0.0.1/");
    assert.equal(count, 1);
    assert.equal(pageOpener("always", () => undefined).canOpenBrowser(), true);
  });

  it("reads this machine without an error", () => {
    pageOpener("auto").canOpenBrowser();
    assert.ok(process.pid > 0);
  });
});
