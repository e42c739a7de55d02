import assert from "node:assert/strict";
import { Validator } from "@cfworker/json-schema";
import { Command } from "commander";
import { type Operation, until } from "effection";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Environment } from "../../src/cli/environment.ts";
import { Problem, USAGE } from "../../src/cli/problem.ts";
import { CONFIG_KEYS, SettingOption } from "../../src/cli/server-flags.ts";
import { applySettings } from "../../src/cli/settings.ts";
import { COMMANDS, type Workbench } from "../../src/cli/command-table.ts";
import type { JsonObject } from "../../src/model/content.ts";
import { SCHEMA_FILE } from "../../scripts/config-schema.ts";
import { readText } from "../harness/files.ts";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { runProgram, useProgram } from "../support/program.ts";
import { configWorks } from "./config-cases.ts";

/** Flags of servers that are no settings. */
const NOT_SETTINGS = ["--config", "--no-form-passwords"];

function commandNamed(name: string): Command {
  const program = new Command();
  COMMANDS[name]!(program, {} as Workbench);
  return program.commands[0]!;
}

function* useConfig(content: unknown, name = "parley.config.json"): Operation<string> {
  const folder = yield* useFolder();
  const text = typeof content === "string" ? content : JSON.stringify(content);
  writeFileSync(join(folder, name), text);
  return folder;
}

/** A valid value of a setting: as a text, and in a config file. */
function sampleOf({ kind, key, argChoices = [] }: SettingOption): [text: string, value: unknown] {
  switch (kind) {
    case "boolean":
      return ["true", true];
    case "number":
      return ["3", 3];
    case "numbers":
      return ["maxBody=5", { maxBody: 5 }];
    case "list": {
      const text = key === "doors" ? "page" : key === "trustProxies" ? "10.0.0.0/8" : "x.example";
      return [text, [text]];
    }
    default: {
      const text = argChoices[0] ?? (/url$/i.test(key) ? "https://x.example" : "sqlite:x");
      return [text, text];
    }
  }
}

/** Applies a config to `parley serve`. `flag` is an option that the command line sets. */
function* applied(content: unknown, flag?: SettingOption): Operation<Command> {
  const file = join(yield* useConfig(content), "parley.config.json");
  const command = commandNamed("serve");
  if (flag) command.setOptionValueWithSource(flag.attributeName(), "x", "cli");
  command.setOptionValueWithSource("config", file, "cli");
  yield* until(applySettings(command, { own: {} } as Environment));
  return command;
}

function* refusal(content: unknown): Operation<Problem> {
  try {
    yield* applied(content);
  } catch (error) {
    assert.ok(error instanceof Problem, String(error));
    return error;
  }
  throw new Error(`It was accepted: ${JSON.stringify(content)}`);
}

/** The keys in a schema, all of which are described. */
function keysIn(schema: { properties: { [name: string]: JsonObject } }): string[] {
  return Object.entries(schema.properties).flatMap(([name, { properties, description }]) => {
    assert.ok(description, name);
    if (properties === undefined || name === "limits") return [name];
    return keysIn({ properties } as typeof schema).map((key) => `${name}.${key}`);
  }).sort();
}

/** The port that a server tries, which is no valid port of a listener here. */
function* portTried(
  args: readonly string[],
  cwd: string,
  env: { readonly [name: string]: string } = {},
): Operation<string> {
  // The address belongs to no interface of this machine, so that the server does not start.
  const all = ["serve", "--host", "192.0.2.1", "--allow-anonymous", ...args];
  const { stderr, code } = yield* runProgram(all, { cwd, env: { PORT: undefined, ...env } });
  assert.equal(code, 1, stderr);
  return /192\.0\.2\.1:(\d+)/.exec(stderr)![1]!;
}

describe("settings", () => {
  it("have a flag, a variable and a config key each", () => {
    const found = new Set<string>();
    for (const name of ["serve", "stdio"]) {
      const command = commandNamed(name);
      for (const option of command.options) {
        const setting = option instanceof SettingOption ? option : undefined;
        if (NOT_SETTINGS.includes(option.long!)) assert.equal(setting, undefined, option.long!);
        else assert.ok(setting, `${name} ${option.long} has no config key`);
        if (setting) found.add(setting.key);
      }
    }
    assert.deepEqual([...found].sort(), [...CONFIG_KEYS].sort());
  });

  it("have the types of their flags", () => {
    const command = commandNamed("serve");
    const kinds = Object.fromEntries(
      command.options.filter((option) => option instanceof SettingOption)
        .map(({ long, kind }) => [long!, kind]),
    );
    const expected = {
      "--port": "number",
      "--ask-patience": "number",
      "--legacy-sse": "boolean",
      "--auth-issuer": "list",
      "--trust-proxy": "list",
      "--doors": "list",
      "--limit": "numbers",
      "--public-url": "text",
      "--log-level": "text",
      "--store": "text",
      "--token-file": "file",
    };
    for (const [flag, kind] of Object.entries(expected)) assert.equal(kinds[flag], kind, flag);
  });
});

describe("a config file", () => {
  it("is used by the commands in its folder", function* () {
    yield* configWorks(yield* useFolder(), yield* useFolder());
  });

  it("is named in what an app starts, because the app runs in another folder", function* () {
    const folder = yield* useConfig({ name: "travel" });
    const said = yield* runProgram(["install", "cursor", "--print"], { cwd: folder });
    assert.equal(said.code, 0, said.stderr);
    const { args } = JSON.parse(said.stdout).mcpServers.parley;
    assert.deepEqual(args.slice(-3), ["stdio", "--config", join(folder, "parley.config.json")]);
  });

  it("comes after flags and variables, and before defaults", function* () {
    const folder = yield* useConfig({ port: 1111 });
    assert.equal(yield* portTried(["--port", "3333"], folder, { PORT: "2222" }), "3333");
    assert.equal(yield* portTried([], folder, { PORT: "2222" }), "2222");
    assert.equal(yield* portTried([], folder), "1111");
    assert.equal(yield* portTried([], yield* useFolder()), "7411");
    const other = yield* useConfig({ port: 4444 }, "other.json");
    const file = join(other, "other.json");
    assert.equal(yield* portTried(["--config", file], folder), "4444");
    assert.equal(yield* portTried([], folder, { PARLEY_CONFIG: file }), "4444");
  });

  it("comes after the variable and the flag of every setting", function* () {
    const options = commandNamed("serve").options.filter((one) => one instanceof SettingOption);
    // The program reads these two variables itself; see above.
    const settings = options.filter(({ key }) => key !== "port" && key !== "host");
    assert.equal(settings.length, CONFIG_KEYS.length - 2);
    for (const option of settings) {
      const { key, variable } = option;
      const [text, value] = sampleOf(option);
      const [group, name] = key.split(".");
      const content = name === undefined ? { [key]: value } : { [group!]: { [name]: value } };
      const sourceWith = function* (given?: "flag") {
        const command = yield* applied(content, given && option);
        return command.getOptionValueSource(option.attributeName());
      };
      assert.equal(yield* sourceWith(), "config", key);
      process.env[variable] = text;
      try {
        assert.equal(yield* sourceWith(), "env", key);
        assert.equal(yield* sourceWith("flag"), "cli", key);
      } finally {
        delete process.env[variable];
      }
    }
  });

  it("has paths relative to itself", function* () {
    const folder = yield* useConfig({ port: 0, store: "sqlite:./data/calls.db" });
    mkdirSync(join(folder, "data"));
    const program = yield* useProgram(["serve", "--config", join(folder, "parley.config.json")]);
    yield* until(program.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
    assert.ok(existsSync(join(folder, "data/calls.db")));
  });

  it(
    "is refused with its name and the key if a key or a type is wrong, without the value",
    function* () {
      const secret = "s3cret-value";
      const cases: [content: unknown, key: string][] = [
        [{ prot: secret }, "prot"],
        [{ port: secret }, "port"],
        [{ port: 70_000 }, "port"],
        [{ doors: secret }, "doors"],
        [{ doors: [secret] }, "doors"],
        [{ auth: secret }, "auth"],
        [{ auth: { isuers: [secret] } }, "auth.isuers"],
        [{ auth: { issuers: secret } }, "auth.issuers"],
        [{ auth: { clientSecret: secret } }, "auth.clientSecret"],
        [{ legacySse: secret }, "legacySse"],
        [{ log: { level: secret } }, "log.level"],
        [{ limits: { maxBody: secret } }, "limits.maxBody"],
        [{ tools: secret }, "tools"],
        [{ trustProxies: [secret] }, "trustProxies"],
      ];
      for (const [content, key] of cases) {
        const file = join(yield* useConfig(content), "parley.config.json");
        const command = commandNamed("serve");
        command.setOptionValueWithSource("config", file, "cli");
        const applied = applySettings(command, { own: {} } as Environment);
        const said = yield* until(applied.then(() => undefined, (error: unknown) => error));
        assert.ok(said instanceof Problem, key);
        assert.equal(said.exitCode, USAGE);
        assert.ok(said.message.includes(`"${key}" of ${file}`), said.message);
        assert.ok(!said.message.includes(secret), said.message);
      }
      const folder = yield* useConfig({ port: secret });
      const { code, stderr } = yield* runProgram(["serve"], { cwd: folder });
      assert.equal(code, 2);
      assert.match(stderr, /^Cannot use "port" of .+parley\.config\.json: .+; .+\n$/);
    },
  );

  it("is refused with the name that was probably meant", function* () {
    const cases: [content: unknown, meant: string][] = [
      [{ prot: 1 }, "port"],
      [{ allowOrigin: [] }, "allowOrigins"],
      [{ publicURL: "x" }, "publicUrl"],
      [{ auth: { isuers: [] } }, "auth.issuers"],
      [{ issuers: [] }, "auth.issuers"],
      [{ auth: { port: 1 } }, "port"],
      [{ log: { levle: "info" } }, "log.level"],
    ];
    for (const [content, meant] of cases) {
      const said = yield* refusal(content);
      assert.ok(said.message.endsWith(`; did you mean "${meant}"?`), said.message);
    }
    assert.match((yield* refusal({ something: 1 })).message, /; use one of tools, port, .+auth/);
  });

  it("is described by the schema of the package, which accepts what the commands accept", function* () {
    const schema = JSON.parse(readText(SCHEMA_FILE));
    const validator = new Validator(schema, "7");
    const accepted: unknown[] = [
      {},
      { $schema: "./node_modules/parley-mcp/parley.config.schema.json", port: 8_000 },
      { tools: ["./tools"], doors: ["form", "page"], limits: { maxBody: 1 }, legacySse: true },
      { auth: { issuers: ["https://a.example"], profile: "entra" }, log: { level: "debug" } },
      { model: { name: "ollama:x", byCaller: true }, store: "sqlite:x.db", keep: 1, state: "here" },
    ];
    for (const content of accepted) {
      assert.ok(validator.validate(content).valid, JSON.stringify(content));
      yield* applied(content);
    }
    const refused: unknown[] = [
      { prot: 1 },
      { port: "1" },
      { port: 70_000 },
      { doors: ["window"] },
      { doors: "form" },
      { auth: "x" },
      { auth: { isuers: [] } },
      { auth: { profile: "x" } },
      { limits: { maxBody: "x" } },
      { log: { level: "loud" } },
      { tools: "x" },
      { keep: -1 },
    ];
    for (const content of refused) {
      assert.ok(!validator.validate(content).valid, JSON.stringify(content));
      assert.ok(yield* refusal(content));
    }
    assert.ok(!validator.validate({ limits: { maxBoddy: 1 } }).valid);
    assert.deepEqual(keysIn(schema), ["$schema", "tools", ...CONFIG_KEYS].sort());
  });

  it("is refused if it cannot be read, is missing, or is one of two", function* () {
    const broken = yield* useConfig("{ not json");
    const strange = yield* useConfig("export const port = 1;", "parley.config.ts");
    const two = yield* useConfig({});
    writeFileSync(join(two, "parley.config.ts"), "export default {};");
    for (const [cwd, args] of [[broken, []], [strange, []], [two, []], [two, ["--config", "x"]]]) {
      const said = yield* runProgram(["tools", ...args as string[]], { cwd: cwd as string });
      assert.notEqual(said.code, 0);
      assert.match(said.stderr, /^Cannot .+; .+\n$/);
    }
  });

  it("is not read by a command that uses another server", function* () {
    const folder = yield* useConfig("throw new Error('it ran');", "parley.config.ts");
    const { stderr } = yield* runProgram(["call", "x", "--url", "http://127.0.0.1:9/mcp"], {
      cwd: folder,
    });
    assert.doesNotMatch(stderr, /it ran/);
    const { stdout } = yield* runProgram(["doctor", "http://127.0.0.1:9/mcp"], { cwd: folder });
    assert.match(stdout, /connection/);
  });
});

describe("variables of settings", () => {
  it("are checked like flags, and named in the message, without the value", function* () {
    const folder = yield* useFolder();
    const cases = [
      ["PARLEY_KEEP", "s3cret"],
      ["PARLEY_LEGACY_SSE", "s3cret"],
      ["PARLEY_LOG_LEVEL", "s3cret"],
      ["PARLEY_TRUST_PROXY", "10.0.0.0/8,s3cret"],
      ["PARLEY_LIMIT", "maxBody=s3cret"],
    ] as const;
    for (const [name, value] of cases) {
      const said = yield* runProgram(["serve"], { cwd: folder, env: { [name]: value } });
      assert.equal(said.code, 2, said.stderr);
      assert.ok(said.stderr.includes(name), said.stderr);
      assert.doesNotMatch(said.stderr, /s3cret/);
    }
    const unknown = yield* runProgram(["serve"], {
      cwd: folder,
      env: { PARLEY_LIMIT: "maxBody=1000,maxBoddy=1" },
    });
    assert.equal(unknown.code, 2, unknown.stderr);
    assert.match(unknown.stderr, /maxBoddy.+maxBody/s);
  }, { within: 60_000 });

  it("set what the flags set", function* () {
    const program = yield* useProgram(["serve"], {
      cwd: yield* useFolder(),
      env: { PORT: "0", PARLEY_LOG_FORMAT: "json", PARLEY_LEGACY_SSE: "true" },
    });
    const [line] = yield* until(program.says(/^\{.*"serving".*\}$/m));
    const { origin } = new URL(JSON.parse(line).address);
    const signal = AbortSignal.timeout(30_000);
    const stream = yield* until(fetch(`${origin}/sse`, { signal }));
    assert.equal(stream.status, 200);
    yield* until(Promise.resolve(stream.body?.cancel()));
  });
});
