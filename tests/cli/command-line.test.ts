import assert from "node:assert/strict";
import { until } from "effection";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDefinition } from "../../src/cli/definitions.ts";
import { listFiles, readText, root } from "../harness/files.ts";
import { describe, it } from "../suite.ts";
import { useFolder } from "../support/folder.ts";
import { useHttp } from "../support/http-server.ts";
import { fromSource, runProgram } from "../support/program.ts";

const tools = join(root, "tests/cli/tools.ts");

describe("parley", () => {
  it("prints its help, in 80 columns, if no command is given", function* () {
    for (const args of [[], ["--help"], ["-h"], ["help"]]) {
      const { code, stdout, stderr } = yield* runProgram(args);
      assert.deepEqual([code, stderr], [0, ""]);
      for (const command of ["serve", "stdio", "tools", "call", "install", "bundle", "new"]) {
        assert.match(stdout, new RegExp(`^  ${command}\\b`, "m"));
      }
      assert.deepEqual(stdout.split("\n").filter((line) => line.length > 80), []);
    }
  });

  it("prints its version", function* () {
    const { version } = JSON.parse(readText("package.json"));
    const { code, stdout } = yield* runProgram(["--version"]);
    assert.deepEqual([code, stdout], [0, `${version}\n`]);
  });

  it("prints the help of each command, in 80 columns", function* () {
    for (const command of ["serve", "stdio", "tools", "call", "install", "bundle", "new"]) {
      const { code, stdout } = yield* runProgram([command, "--help"]);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`Usage: parley ${command}`));
      assert.deepEqual(stdout.split("\n").filter((line) => line.length > 80), []);
    }
  });

  const mistakes: [string, string[], string][] = [
    [
      "an unknown command",
      ["sevre"],
      'Cannot run "sevre": there is no such command; did you mean serve?',
    ],
    [
      "an unknown flag",
      ["serve", "--prot", "1"],
      'Cannot use option "--prot": there is no such option; did you mean --port?',
    ],
    [
      "a port that is none",
      ["serve", "--port", "99999"],
      'Cannot use "99999" for --port: it must be a number from 0 to 65535; see --help',
    ],
    [
      "a flag without its value",
      ["serve", "--port"],
      "Cannot use --port: its value is missing; see --help",
    ],
    [
      "a choice that is none",
      ["stdio", "--log-format", "xml"],
      'Cannot use "xml" for --log-format: it must be one of text, json; see --help',
    ],
    [
      "an app that is not known",
      ["install", "emacs"],
      'Cannot use "emacs" as the app: it must be one of claude-desktop, claude-code, vscode, cursor; see --help',
    ],
    [
      "too many words",
      ["new", "my", "tools"],
      'Cannot run "new": it takes 1 argument, not my, tools; see --help',
    ],
    [
      "a public address that is none",
      ["serve", "--public-url", "example.com"],
      'Cannot use "example.com" for --public-url: it must be a URL such as https://example.com; see --help',
    ],
    [
      "a trusted proxy that is no address",
      ["serve", "--trust-proxy", "proxy.example"],
      'Cannot use "proxy.example" for --trust-proxy: it must be an IP address or a range such as 10.0.0.0/8; see --help',
    ],
    [
      "a door that is none",
      ["serve", "--doors", "form,from"],
      'Cannot use "form,from" for --doors: it must be a list of form, app, page and model; see --help',
    ],
    [
      "a time to wait that is none",
      ["stdio", "--ask-wait", "soon"],
      'Cannot use "soon" for --ask-wait: it must be a number of seconds, up to 3600; see --help',
    ],
    [
      "a missing argument",
      ["call"],
      "Cannot run the command: the argument <tool> is missing; see --help",
    ],
    [
      "arguments that are no object",
      ["call", "x", "[1]"],
      `Cannot use the arguments: they are not a JSON object; write them as '{"name": "value"}'`,
    ],
    [
      "an address that is none",
      ["call", "x", "--url", "nowhere"],
      'Cannot call "nowhere": it is not a URL; write it as http://127.0.0.1:7411/mcp',
    ],
    [
      "a header that is none",
      ["call", "x", "--url", "http://127.0.0.1:9", "--header", "s3cret"],
      'Cannot use a header: it has no name; write it as "Name: value"',
    ],
    [
      "a tool that is not there",
      ["call", "advize", tools],
      'Cannot call "advize": there is no such tool; choose one of: advise, nobody_there, refuse, register, visit',
    ],
    [
      "a project without a name",
      ["new", "My Tools"],
      'Cannot create "My Tools": it is not a valid package name; use lower-case letters, digits, dots and dashes, as in my-tools',
    ],
  ];
  for (const [what, args, sentence] of mistakes) {
    it(`reports ${what} in one sentence`, function* () {
      const { code, stdout, stderr } = yield* runProgram(args);
      assert.deepEqual([code, stdout, stderr], [2, "", `${sentence}\n`]);
    });
  }

  it("completes commands, flags, choices, and then files", function* () {
    const cases: [string[], RegExp][] = [
      [["ser"], /^serve\t.*\n:4\n$/],
      [["serve", "--log"], /^--log-level\t.*\n--log-format\t.*\n:4\n$/],
      [["install", "v"], /^vscode\t\n:4\n$/],
      [["serve", ""], /^:0\n$/],
      [["serve", "--log-level", "de"], /^debug\t\n:4\n$/],
      [["serve", "--log-level=de"], /^--log-level=debug\t\n:4\n$/],
      // Bash splits a flag from its value.
      [["serve", "--log-level", "=", "de"], /^debug\t\n:4\n$/],
      [["serve", "--log-level", "="], /^debug\t\n(.*\n)*:4\n$/],
      [["serve", "--port", ""], /^:0\n$/],
      [["--unknown"], /^:4\n$/],
      [["help", "ser"], /^serve\t.*\n:4\n$/],
      [["install", "vscode", ""], /^:0\n$/],
      [[], /^serve\t.*\n(.*\n)*:4\n$/],
    ];
    for (const [words, pattern] of cases) {
      const { stdout } = yield* runProgram(["complete", "--", ...words]);
      assert.match(stdout, pattern);
    }
    for (const shell of ["bash", "zsh", "fish", "powershell"]) {
      const { code, stdout } = yield* runProgram(["completions", shell]);
      assert.equal(code, 0);
      assert.match(stdout, /parley/);
    }
  });

  it.when(existsSync("/bin/bash"))(
    "completes in bash, without bash-completion",
    function* () {
      const command = fromSource().map((word) => `'${word}'`).join(" ");
      const script = [
        `parley() { ${command} "$@"; }`,
        "source <(parley completions bash)",
        "COMP_WORDS=(parley install v) COMP_CWORD=2",
        "_parley",
        'printf "%s\\n" "${COMPREPLY[@]}"',
        "complete -p parley",
      ];
      const { code, stdout } = yield* runProgram(["--norc", "-c", script.join("\n")], {
        start: ["/bin/bash"],
      });
      assert.deepEqual([code, stdout], [0, "vscode\ncomplete -o default -F _parley parley\n"]);
    },
  );
});

describe("parley tools", () => {
  it("shows the parameters, questions and requirements of each tool", function* () {
    const { code, stdout } = yield* runProgram(["tools", tools]);
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^register\n {2}Registers a person\.\n {2}takes\n {4}event {3}text of at least 2 characters/m,
    );
    assert.match(stdout, /person {2}name, age, meal, days, newsletter, birthday, pin \(hidden\)/);
  });

  it("prints the same as JSON", function* () {
    const { stdout } = yield* runProgram(["tools", tools, "--json"]);
    const register = JSON.parse(stdout).find(({ name }: { name: string }) => name === "register");
    assert.equal(register.kind, "tool");
    assert.equal(register.inputSchema.properties.event.minLength, 2);
    assert.deepEqual(register.asks[0].sensitive, ["pin"]);
  });

  it("lists the tools of a server, without the control characters in them", function* () {
    const url = yield* useHttp(async (request, response) => {
      let text = "";
      for await (const part of request) text += part;
      const { id, method } = JSON.parse(text);
      const inputSchema = {
        $defs: { name: { type: "string" } },
        type: "object",
        properties: { who: { $ref: "#/$defs/name" } },
      };
      const result = method === "tools/list"
        ? { tools: [{ name: "greet", description: "Greets.\x1b[31m", inputSchema }] }
        : { supportedVersions: ["2026-07-28"] };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    const shown = yield* runProgram(["tools", "--url", url]);
    assert.equal(shown.code, 0, shown.stderr);
    assert.match(shown.stdout, /^greet\n {2}Greets\./);
    const json = yield* runProgram(["tools", "--url", url, "--json"]);
    assert.deepEqual(JSON.parse(json.stdout)[0].inputSchema.$defs, { name: { type: "string" } });
    for (const { stdout } of [shown, json]) assert.ok(!stdout.includes("\x1b"));
    const both = yield* runProgram(["tools", tools, "--url", url]);
    assert.equal(both.code, 2);
  });

  it("lists the shipped tools if no module is given", function* () {
    const folder = yield* useFolder();
    const { code, stdout } = yield* runProgram(["tools"], { cwd: folder });
    assert.equal(code, 0);
    for (const file of listFiles("tools", ".ts").filter((file) => file.split("/").length === 2)) {
      const module: object = yield* until(import(join(root, file)));
      for (const { name } of Object.values(module).filter(isDefinition)) {
        assert.match(stdout, new RegExp(`^${name}\\b`, "m"), `src/main.ts does not ship ${file}`);
      }
    }
  });
});

describe("modules", () => {
  const cases: [string, { [name: string]: string }, string[], RegExp][] = [
    [
      "is not there",
      {},
      ["none.ts"],
      /^Cannot load "none\.ts": there is no such file or folder; check the path$/,
    ],
    [
      "is no program",
      { "a.ts": "const x = ;" },
      ["a.ts"],
      /^Cannot load "a\.ts": .*line 1, column 11\); fix the error in the file$/,
    ],
    [
      "throws",
      { "a.ts": 'throw new Error("no luck")' },
      ["a.ts"],
      /^Cannot load "a\.ts": no luck \(line 1/,
    ],
    [
      "exports nothing of use",
      { "a.ts": "export const x = 1;" },
      ["a.ts"],
      /^Cannot serve "a\.ts": it exports no tool, prompt, resource or skill; export what createMcpTool/,
    ],
    [
      "exports a tool that is not finished",
      {
        "a.ts": 'import { createMcpTool } from "parley-mcp"; export const x = createMcpTool("x");',
      },
      ["a.ts"],
      /end each tool with \.execute\(…\) or \.handoff\(…\)$/,
    ],
    [
      "is an empty folder",
      {},
      ["."],
      /^Cannot load "\.": the folder contains no TypeScript or JavaScript files; add a tool to it$/,
    ],
    [
      "has a name twice",
      { "a.ts": tool("same"), "b.ts": tool("same") },
      ["a.ts", "b.ts"],
      /^Cannot serve tool "same" of b\.ts: a\.ts defines the same name; rename one of them$/,
    ],
  ];
  for (const [what, files, args, pattern] of cases) {
    it(`are refused in one sentence if one ${what}`, function* () {
      const folder = yield* useFolder();
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
      const { code, stdout, stderr } = yield* runProgram(["serve", ...args], { cwd: folder });
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr.trim(), pattern);
    });
  }

  it("find our packages from anywhere, and each other", function* () {
    const folder = yield* useFolder();
    writeFileSync(
      join(folder, "helper.ts"),
      `
      import { ToolError } from "parley-mcp";
      export class Special extends ToolError {}
    `,
    );
    writeFileSync(
      join(folder, "tool.ts"),
      `
      import { sleep } from "effection";
      import { createMcpTool, ToolError } from "parley-mcp";
      import { z } from "zod";
      import * as v3 from "zod/v3";
      import { Special } from "./helper.ts";
      export default [createMcpTool("far").description("Far away.")
        .parameters(z.object({ a: z.string() }))
        .execute(function* ({ a }) {
          yield* sleep(0);
          throw new Special(a + (new Special("") instanceof ToolError) + typeof v3.z.string);
        })];
    `,
    );
    const { code, stdout } = yield* runProgram(["call", "far", '{"a":"said "}', "tool.ts"], {
      cwd: folder,
    });
    // The model gets the message, so our own class was thrown.
    assert.deepEqual([code, stdout], [1, "said truefunction\n"]);
  });

  it("may be folders, whose tests are ignored", function* () {
    const folder = yield* useFolder();
    writeFileSync(join(folder, "a.ts"), tool("one"));
    writeFileSync(join(folder, "b.js"), tool("two"));
    writeFileSync(join(folder, "a.test.ts"), 'throw new Error("a test")');
    writeFileSync(join(folder, "notes.md"), "# Notes");
    const { stdout } = yield* runProgram(["tools", ".", "--json"], { cwd: folder });
    assert.deepEqual(JSON.parse(stdout).map(({ name }: { name: string }) => name), ["one", "two"]);
  });
});

function tool(name: string): string {
  return `import { createMcpTool } from "parley-mcp";
    export const it = createMcpTool("${name}").description("A tool.").execute(function* () {});`;
}

describe("parley call without a terminal", () => {
  it("prints the result", function* () {
    const echo = join(root, "tests/transport/stdio/tools.ts");
    const { code, stdout } = yield* runProgram(["call", "echo", '{"text":"hello"}', echo]);
    assert.deepEqual([code, stdout], [0, "hello\n"]);
  });

  it("prints the whole result as JSON with --json", function* () {
    const { code, stdout } = yield* runProgram(["call", "refuse", tools, "--json"]);
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(stdout), {
      content: [{ type: "text", text: "The shop is closed." }],
      isError: true,
    });
  });

  it("says what it would have asked, and fails", function* () {
    const { code, stdout, stderr } = yield* runProgram([
      "call",
      "register",
      '{"event":"it"}',
      tools,
    ]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^25% Looking for a place$/m);
    assert.match(stderr, /^The tool asks: Who comes to it\?$/m);
    assert.match(stderr, /^ {2}meal: one of meat, fish$/m);
    assert.match(stderr, /^Cannot ask you: stdin or stderr is not a terminal; /m);
  });

  it("says what it would have asked the model, and fails", function* () {
    const env = { PARLEY_MODEL: undefined };
    const { code, stderr } = yield* runProgram(["call", "advise", tools], { env });
    assert.equal(code, 1);
    assert.match(stderr, /^The tool asks the model: What is the capital of Styria\?$/m);
    assert.match(stderr, /set PARLEY_MODEL/);
  });

  it("lets the tool report missing arguments", function* () {
    const { code, stdout } = yield* runProgram(["call", "register", tools]);
    assert.equal(code, 1);
    assert.match(stdout, /"event": is required/);
  });

  it("reports that no server is listening", function* () {
    const { code, stderr } = yield* runProgram(["call", "x", "--url", "http://127.0.0.1:9999"]);
    assert.equal(code, 1);
    assert.match(stderr, /^Cannot reach http:\/\/127\.0\.0\.1:9999\/mcp: nothing listens there/);
  });
});
