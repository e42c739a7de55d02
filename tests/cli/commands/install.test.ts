import assert from "node:assert/strict";
import { until } from "effection";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { withValue } from "../../../src/cli/commands/config-file.ts";
import { MCP_APP_NAMES } from "../../../src/cli/mcp-app-names.ts";
import { type Machine, MCP_APPS } from "../../../src/cli/commands/mcp-apps.ts";
import { Problem } from "../../../src/cli/problem.ts";
import { root } from "../../harness/files.ts";
import { describe, it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";
import {
  fromSource,
  type Program,
  type ProgramOptions,
  runProgram,
  useProgram,
} from "../../support/program.ts";

const tools = join(root, "tests/cli/tools.ts");

function at(home: string): ProgramOptions {
  const folders = { HOME: home, USERPROFILE: home, APPDATA: join(home, "AppData", "Roaming") };
  // Both have caches in the home folder, which need not be filled again.
  const caches = { DENO_DIR: process.env.DENO_DIR ?? join(process.env.HOME ?? "", ".cache/deno") };
  return {
    cwd: home,
    env: { ...folders, ...caches, XDG_CONFIG_HOME: undefined, CLAUDE_CONFIG_DIR: undefined },
  };
}

describe("the apps' configuration files", () => {
  const machine = (platform: NodeJS.Platform, home: string, env = {}): Machine => ({
    platform,
    home,
    env,
  });
  const userFile = (app: keyof typeof MCP_APPS, on: Machine) =>
    MCP_APPS[app].userFile(on).replaceAll("\\", "/");

  it("are where each system has them", () => {
    const mac = machine("darwin", "/Users/ann");
    const linux = machine("linux", "/home/ann");
    const windows = machine("win32", "C:/Users/ann", { APPDATA: "C:/Users/ann/AppData/Roaming" });
    assert.deepEqual(
      MCP_APP_NAMES.map((app) => [mac, linux, windows].map((on) => userFile(app, on))),
      [
        [
          "/Users/ann/Library/Application Support/Claude/claude_desktop_config.json",
          "/home/ann/.config/Claude/claude_desktop_config.json",
          "C:/Users/ann/AppData/Roaming/Claude/claude_desktop_config.json",
        ],
        ["/Users/ann/.claude.json", "/home/ann/.claude.json", "C:/Users/ann/.claude.json"],
        [
          "/Users/ann/Library/Application Support/Code/User/mcp.json",
          "/home/ann/.config/Code/User/mcp.json",
          "C:/Users/ann/AppData/Roaming/Code/User/mcp.json",
        ],
        [
          "/Users/ann/.cursor/mcp.json",
          "/home/ann/.cursor/mcp.json",
          "C:/Users/ann/.cursor/mcp.json",
        ],
      ],
    );
  });

  it("follow the environment variables", () => {
    const env = { XDG_CONFIG_HOME: "/etc/xdg", CLAUDE_CONFIG_DIR: "/work/claude" };
    const moved = machine("linux", "/home/ann", env);
    assert.equal(userFile("vscode", moved), "/etc/xdg/Code/User/mcp.json");
    assert.equal(userFile("claude-code", moved), "/work/claude/.claude.json");
  });
});

describe("withValue()", () => {
  const set = (text: string) => withValue(text, ["servers", "parley"], { url: "x" }, "mcp.json");

  it("keeps the existing content, including comments", () => {
    const text = `{
    // mine
    "servers": {
        "other": { "command": "x" }, /* keep */
    },
    "inputs": []
}
`;
    const changed = set(text);
    for (const line of text.split("\n").filter((line) => !line.includes("other"))) {
      assert.ok(changed.includes(line), line);
    }
    assert.match(changed, /"other": \{\s*"command": "x"\s*\},/);
    assert.match(changed, /\/\* keep \*\//);
    assert.match(changed, /^ {8}"parley": \{\n {12}"url": "x"\n {8}\}/m);
    assert.equal(set(changed), changed, "a second time changes nothing");
  });

  it("creates a missing file, and a missing section", () => {
    const expected = { servers: { parley: { url: "x" } } };
    for (const text of ["", "  \n", "{}", "// empty\n{}"]) {
      assert.deepEqual(JSON.parse(set(text).replace("// empty", "")), expected);
    }
  });

  it("keeps tabs and line ends", () => {
    const changed = set('{\r\n\t"servers": {\r\n\t\t"a": {}\r\n\t}\r\n}\r\n');
    assert.match(changed, /\r\n\t\t"parley": \{\r\n\t\t\t"url"/);
    assert.doesNotMatch(changed, /[^\r]\n/);
  });

  it("refuses a file that it cannot parse", () => {
    for (const text of ["{ nonsense", "[]", '"text"', "{} trailing"]) {
      assert.throws(() => set(text), Problem, text);
    }
  });
});

describe("parley install", () => {
  it("writes an entry that starts this program", function* () {
    const home = yield* useFolder();
    const file = join(home, ".cursor/mcp.json");
    const { code, stderr } = yield* runProgram(["install", "cursor", tools], at(home));
    assert.equal(code, 0, stderr);
    const { command, args } = JSON.parse(readFileSync(file, "utf8")).mcpServers.parley;
    assert.deepEqual([command, ...args.filter((word: string) => word !== "--no-check")], [
      ...fromSource().filter((word) => word !== "--no-check"),
      "stdio",
      tools,
    ]);
    // The entry works.
    const program: Program = yield* useProgram([], { start: [command, ...args], cwd: "/" });
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x" } };
    program.send({ id: 1, method: "initialize", params });
    yield* until(program.says(/"serverInfo"/, "stdout"));
  });

  it("keeps the existing content, with a backup, and changes nothing the second time", function* () {
    const home = yield* useFolder();
    const file = MCP_APPS.vscode.userFile({ platform: process.platform, home, env: at(home).env! });
    mkdirSync(dirname(file), { recursive: true });
    const before = '{\n  // mine\n  "servers": { "other": { "command": "x" } }\n}\n';
    writeFileSync(file, before, { mode: 0o600 });
    const url = "http://127.0.0.1:7411/mcp";
    const install = ["install", "vscode", "--url", url, "--name", "mine"];
    const first = yield* runProgram(install, at(home));
    assert.equal(first.code, 0, first.stderr);
    const after = readFileSync(file, "utf8");
    assert.match(after, /\/\/ mine/);
    const entry = JSON.parse(after.replace("// mine", "")).servers.mine;
    assert.deepEqual(entry, { type: "http", url });
    if (process.platform !== "win32") assert.equal(statSync(file).mode & 0o777, 0o600);
    const [backup] = readdirSync(dirname(file)).filter((name) => name.endsWith(".bak"));
    assert.equal(readFileSync(join(dirname(file), backup!), "utf8"), before);
    assert.ok(first.stderr.includes(backup!));
    const second = yield* runProgram(install, at(home));
    assert.match(second.stderr, /is already configured/);
    assert.equal(readdirSync(dirname(file)).length, 2);
  });

  it("prints what it would write with --print, and writes nothing", function* () {
    const home = yield* useFolder();
    const { code, stdout } = yield* runProgram(["install", "claude-desktop", "--print"], at(home));
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).mcpServers.parley.args.at(-1), "stdio");
    assert.deepEqual(readdirSync(home).filter((name) => !name.startsWith(".")), []);
  });

  it("writes for one project with --project", function* () {
    const home = yield* useFolder();
    const { code } = yield* runProgram(["install", "claude-code", "--project"], at(home));
    assert.equal(code, 0);
    const { mcpServers } = JSON.parse(readFileSync(join(home, ".mcp.json"), "utf8"));
    assert.equal(mcpServers.parley.type, "stdio");
  });

  it("writes the variables of the display, which apps do not pass on", function* () {
    const home = yield* useFolder();
    const display = join(home, "wayland-0");
    writeFileSync(display, "");
    const none = {
      CI: undefined,
      SSH_CONNECTION: undefined,
      SSH_CLIENT: undefined,
      SSH_TTY: undefined,
    };
    const desktop = {
      ...none,
      WAYLAND_DISPLAY: display,
      DISPLAY: undefined,
      XAUTHORITY: undefined,
      XDG_RUNTIME_DIR: home,
      XDG_CURRENT_DESKTOP: undefined,
      DBUS_SESSION_BUS_ADDRESS: undefined,
    };
    const print = function* (args: readonly string[], env: ProgramOptions["env"]) {
      const { env: own, ...rest } = at(home);
      const options = { ...rest, env: { ...own, ...env } };
      const { stdout } = yield* runProgram(["install", "claude-code", "--print", ...args], options);
      return JSON.parse(stdout).mcpServers.parley.env;
    };
    const isLinux = !["darwin", "win32"].includes(process.platform);
    const expected = isLinux ? { WAYLAND_DISPLAY: display, XDG_RUNTIME_DIR: home } : undefined;
    assert.deepEqual(yield* print([], desktop), expected);
    assert.equal(yield* print(["--project"], desktop), undefined);
    assert.equal(yield* print([], { ...desktop, SSH_TTY: "/dev/pts/0" }), undefined);
    assert.equal(yield* print([], { ...desktop, WAYLAND_DISPLAY: undefined }), undefined);
  });

  it("changes the file that a link points to, and keeps the link", function* () {
    const home = yield* useFolder();
    const real = join(home, "dotfiles.json");
    writeFileSync(real, "{}");
    symlinkSync(real, join(home, ".claude.json"));
    yield* runProgram(["install", "claude-code"], at(home));
    assert.ok(JSON.parse(readFileSync(real, "utf8")).mcpServers.parley);
  });

  it("refuses what the app or the file cannot hold, and changes nothing", function* () {
    const home = yield* useFolder();
    const file = join(home, ".claude.json");
    writeFileSync(file, "{ broken");
    const cases: [string[], RegExp][] = [
      [["claude-desktop", "--url", "http://x"], /its configuration file supports programs only/],
      [["claude-desktop", "--project"], /Claude Desktop has no project configuration/],
      [["claude-code"], /Cannot change .*\.claude\.json: it is not valid JSON \(\w+ in line 1\)/],
      [["cursor", "none.ts"], /Cannot load "none\.ts"/],
      [["emacs"], /it must be one of claude-desktop, claude-code, vscode, cursor/],
    ];
    for (const [args, pattern] of cases) {
      const { code, stderr } = yield* runProgram(["install", ...args], at(home));
      assert.notEqual(code, 0);
      assert.match(stderr, pattern);
    }
    assert.equal(readFileSync(file, "utf8"), "{ broken");
    assert.deepEqual(readdirSync(home).filter((name) => name.endsWith(".bak")), []);
  });
});
