import assert from "node:assert/strict";
import { all, type Operation, scoped, sleep, spawn, until, withResolvers } from "effection";
import { Buffer } from "node:buffer";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unzipSync } from "fflate";
import process from "node:process";
import { zip } from "../../../src/cli/commands/zip.ts";
import { machineOf, runsOn, thisMachine } from "../../../src/platform/machine.ts";
import { root } from "../../harness/files.ts";
import { installPeers } from "../../harness/peers.ts";
import { currentRuntime, useRuntime } from "../../harness/toolchain.ts";
import { describe, it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";
import { useHttp } from "../../support/http-server.ts";
import { fromSource, runProgram, useProgram } from "../../support/program.ts";
import { bundledTripWorks, mcpb, unpack } from "./bundle-cases.ts";

const onPosix = it.when(process.platform !== "win32");
const tools = join(root, "tests/cli/tools.ts");

/**
 * A script that acts like a compiled program: it is Parley, or Bun if an environment variable says
 * so.
 */
function writeProgram(file: string, { bun = true } = {}): string {
  const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(" ");
  const { DENO_DIR = join(process.env.HOME ?? root, ".cache/deno") } = process.env;
  const lines = [
    "#!/bin/sh",
    ...(bun ? [`[ -n "$BUN_BE_BUN" ] && exec '${useRuntime("bun").path}' "$@"`] : []),
    // With an empty home, Deno would not find its packages.
    `DENO_DIR='${DENO_DIR}' exec ${quoted(fromSource())} "$@"`,
  ];
  writeFileSync(file, `${lines.join("\n")}\n`, { mode: 0o755 });
  return file;
}

describe("parley bundle", () => {
  onPosix(
    "makes a file that the official tool accepts, with program and modules inside",
    function* () {
      installPeers();
      const folder = yield* useFolder();
      const program = writeProgram(join(folder, "fake"));
      const { code, stderr } = yield* runProgram(
        ["bundle", tools, "--executable", program, "--name", "mine"],
        { cwd: folder },
      );
      assert.equal(code, 0, stderr);
      const [file] = /\S+\.mcpb/.exec(stderr)!;
      assert.match(mcpb("info", file), /mine-\d+\.\d+\.\d+\.mcpb/);
      const { manifest, start: [command, , module] } = unpack(file, join(folder, "out"));
      assert.equal(readFileSync(command, "utf8"), readFileSync(program, "utf8"));
      assert.ok(statSync(command).mode & 0o100);
      assert.match(readFileSync(module!, "utf8"), /"register"/);
      assert.deepEqual(manifest.compatibility.platforms, [process.platform]);
      const names = manifest.tools.map(({ name }) => name);
      assert.ok(names.includes("register"));
    },
    { within: 60_000 },
  );

  onPosix("packs what the tools import and read, so that it runs anywhere", function* () {
    installPeers();
    const folder = yield* useFolder();
    const executable = ["--executable", writeProgram(join(folder, "fake"))];
    yield* bundledTripWorks(folder, { executable });
  }, { within: 60_000 });

  onPosix("keeps folders of the same name apart", function* () {
    installPeers();
    const folder = yield* useFolder();
    for (const name of ["one", "two"]) {
      mkdirSync(join(folder, name, "tools"), { recursive: true });
      const text = `import { createMcpTool } from "parley-mcp";
        export default createMcpTool("${name}").description("x").execute(function* () {});`;
      writeFileSync(join(folder, name, "tools/tool.ts"), text);
    }
    const { code, stderr } = yield* runProgram(
      [
        ...["bundle", "one/tools", "two/tools/tool.ts", "--out", "it.mcpb"],
        ...["--executable", writeProgram(join(folder, "fake"))],
      ],
      { cwd: folder },
    );
    assert.equal(code, 0, stderr);
    const { manifest } = unpack(join(folder, "it.mcpb"), join(folder, "out"));
    assert.deepEqual(manifest.tools.map(({ name }) => name), ["one", "two"]);
    assert.deepEqual(manifest.server.mcp_config.args.slice(1), [
      "${__dirname}/server/modules/one/tools",
      "${__dirname}/server/modules/two/tools/tool.mjs",
    ]);
  }, { within: 60_000 });

  onPosix("writes nothing if the result does not start on its own", function* () {
    const folder = yield* useFolder();
    const program = writeProgram(join(folder, "fake"));
    const work = join(folder, "tmp");
    mkdirSync(work);
    mkdirSync(join(folder, "tools"));
    writeFileSync(join(folder, "needed.txt"), "needed");
    const needy = `import { createMcpTool } from "parley-mcp";
      import { readFileSync } from "node:fs";
      const text = readFileSync(new URL("../needed.txt", import.meta.url), "utf8");
      export const needy = createMcpTool("needy").description(text).execute(function* () {});`;
    writeFileSync(join(folder, "tools/needy.ts"), needy);
    const { code, stdout, stderr } = yield* runProgram(
      ["bundle", "tools", "--executable", program, "--out", "it.mcpb"],
      { cwd: folder, env: { TMPDIR: work } },
    );
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(
      stderr,
      /^Cannot bundle: the bundle does not work on its own: .*needed\.txt.*; .+\n$/,
    );
    assert.ok(!existsSync(join(folder, "it.mcpb")));
    assert.deepEqual(readdirSync(work), []);
  }, { within: 60_000 });

  onPosix("names the import that cannot be found", function* () {
    const folder = yield* useFolder();
    const lost = `import { createMcpTool } from "parley-mcp";
      export const lost = createMcpTool("lost").description("x").execute(function* () {
        yield* import("nowhere-to-be-found");
      });`;
    writeFileSync(join(folder, "lost.ts"), lost);
    const program = writeProgram(join(folder, "fake"));
    const args = ["bundle", "lost.ts", "--executable", program, "--out", "it.mcpb"];
    const { code, stderr } = yield* runProgram(args, { cwd: folder });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^Cannot bundle "\S+lost\.ts": .*"nowhere-to-be-found".* \(line 3, column \d+\); .+\n$/,
    );
    assert.ok(!existsSync(join(folder, "it.mcpb")));
  }, { within: 60_000 });

  for (
    const [platform, head, entry] of [
      ["darwin", machO(0x0100000c), "server/parley"],
      ["win32", pe(0x8664), "server/parley.exe"],
    ] as const
  ) {
    const elsewhere = it.when(process.platform !== platform);
    elsewhere(`writes the platform of the program that is inside, ${platform}`, function* () {
      installPeers();
      const folder = yield* useFolder();
      writeFileSync(join(folder, "other"), head);
      const args = ["bundle", "--executable", "other", "--out", "it.mcpb"];
      const { code, stderr } = yield* runProgram(args, { cwd: folder });
      assert.equal(code, 0, stderr);
      assert.match(
        stderr,
        new RegExp(`for ${platform} \\w+; the program was not tested, because`),
      );
      const { manifest } = unpack(join(folder, "it.mcpb"), join(folder, "out"));
      assert.deepEqual(manifest.compatibility.platforms, [platform]);
      assert.equal(manifest.server.entry_point, entry);
    }, { within: 60_000 });
  }

  it.when(process.platform === "linux" && process.arch === "x64")(
    "reports a program that cannot be started",
    function* () {
      const folder = yield* useFolder();
      writeFileSync(join(folder, "dead"), elf(62), { mode: 0o755 });
      const args = ["bundle", "--executable", "dead", "--out", "it.mcpb"];
      const { code, stderr } = yield* runProgram(args, { cwd: folder });
      assert.equal(code, 1);
      // Deno passes what the system cannot start to a shell, which cannot start it either.
      assert.match(stderr, /^Cannot bundle: .+; .+\n$/);
      assert.ok(!existsSync(join(folder, "it.mcpb")));
    },
  );

  const onBun = it.when(currentRuntime() === "bun" && process.platform === "linux");
  onBun("starts the modules with this program if the other cannot be started", function* () {
    const folder = yield* useFolder();
    writeFileSync(join(folder, "other"), machO(0x0100000c));
    const args = ["bundle", tools, "--executable", "other", "--out", "it.mcpb"];
    const { code, stderr } = yield* runProgram(args, { cwd: folder });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /for darwin arm64; .*; the modules passed a test start\./);
  }, { within: 60_000 });

  const onDeno = it.when(currentRuntime() === "deno" && process.platform !== "win32");
  onDeno("reports a missing bundler", function* () {
    const folder = yield* useFolder();
    const program = writeProgram(join(folder, "fake"), { bun: false });
    const args = ["bundle", tools, "--executable", program];
    const { code, stderr } = yield* runProgram(args, { cwd: folder });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^Cannot bundle "\S+": neither this program nor "\S+" contains a bundler; /,
    );
  }, { within: 60_000 });

  onPosix("leaves nothing behind when it is stopped", function* () {
    const folder = yield* useFolder();
    const work = join(folder, "tmp");
    mkdirSync(work);
    const started = withResolvers<void>();
    const gone = withResolvers<void>();
    // Never answered: the connection lasts as long as the program that was started.
    const url = yield* useHttp((request) => {
      request.socket.on("close", gone.resolve);
      started.resolve();
    });
    const program = join(folder, "fake");
    const code = `await fetch("${url}")`;
    writeFileSync(
      program,
      `#!/bin/sh\nexec '${useRuntime("bun").path}' -e '${code}'\n`,
      { mode: 0o755 },
    );
    const args = ["bundle", "--executable", program, "--out", "it.mcpb"];
    const running = yield* useProgram(args, { cwd: folder, env: { TMPDIR: work } });
    yield* started.operation;
    running.signal("SIGTERM");
    assert.deepEqual(yield* until(running.exit), { code: 143, signal: null });
    yield* gone.operation;
    assert.deepEqual(readdirSync(work), []);
    assert.ok(!existsSync(join(folder, "it.mcpb")));
  }, { within: 60_000 });

  it("says that it needs the compiled program", function* () {
    const { code, stderr } = yield* runProgram(["bundle"]);
    assert.equal(code, 2);
    assert.match(stderr, /^Cannot bundle: this program is not compiled; compile it \(/);
    const missing = yield* runProgram(["bundle", "--executable", "none"]);
    assert.match(missing.stderr, /^Cannot bundle "none": there is no such file/);
    const nowhere = yield* runProgram(["bundle", "none", "--executable", process.execPath]);
    assert.match(nowhere.stderr, /^Cannot load "none": there is no such file or folder; /);
    const other = yield* runProgram(["bundle", "--executable", join(root, "package.json")]);
    assert.equal(other.code, 2);
    assert.match(
      other.stderr,
      /^Cannot bundle "\S+": it is not a program for Linux, macOS or Windows/,
    );
  });
});

describe("machineOf()", () => {
  function* machineIn(head: Uint8Array): Operation<ReturnType<typeof machineOf>> {
    const file = join(yield* useFolder(), "program");
    writeFileSync(file, head);
    return machineOf(file);
  }

  it("reads from a program which system it is for", function* () {
    const cases = [
      [elf(62), { platform: "linux", arch: "x64" }],
      [elf(183), { platform: "linux", arch: "arm64" }],
      [elf(40), { platform: "linux", arch: undefined }],
      [machO(0x01000007), { platform: "darwin", arch: "x64" }],
      [machO(0x0100000c), { platform: "darwin", arch: "arm64" }],
      [Buffer.concat([Buffer.from([0xca, 0xfe, 0xba, 0xbe]), Buffer.alloc(100)]), {
        platform: "darwin",
        arch: undefined,
      }],
      [pe(0x8664), { platform: "win32", arch: "x64" }],
      [pe(0xaa64), { platform: "win32", arch: "arm64" }],
      [Buffer.from("#!/bin/sh\n"), thisMachine()],
      [Buffer.from("hello"), undefined],
      [Buffer.alloc(200), undefined],
      [Buffer.alloc(0), undefined],
    ] as const;
    for (const [head, machine] of cases) assert.deepEqual(yield* machineIn(head), machine);
    assert.deepEqual(machineOf(process.execPath), thisMachine());
  });

  it("knows which program runs on which system", () => {
    const [x64, arm64] = (["x64", "arm64"] as const).map((arch) => ({
      platform: "linux" as const,
      arch,
    }));
    assert.ok(runsOn(x64!, x64!));
    assert.ok(!runsOn(x64!, arm64!));
    assert.ok(!runsOn({ platform: "darwin", arch: "x64" }, x64!));
    assert.ok(runsOn({ platform: "linux", arch: undefined }, arm64!));
  });
});

function elf(machine: number): Uint8Array {
  const head = Buffer.alloc(200);
  head.write("\x7fELF", "latin1");
  head.writeUInt16LE(machine, 18);
  return head;
}

function machO(cpu: number): Uint8Array {
  const head = Buffer.alloc(200);
  head.writeUInt32LE(0xfeedfacf);
  head.writeUInt32LE(cpu, 4);
  return head;
}

function pe(machine: number): Uint8Array {
  const head = Buffer.alloc(200);
  head.write("MZ", "latin1");
  head.writeUInt32LE(128, 60);
  head.write("PE\0\0", 128, "latin1");
  head.writeUInt16LE(machine, 132);
  return head;
}

/** The Unix modes in the central directory of a zip file. */
function modesIn(packed: Uint8Array): number[] {
  const bytes = Buffer.from(packed);
  const modes = [];
  for (let at = 0; (at = bytes.indexOf("PK\x01\x02", at, "latin1")) >= 0; at += 46) {
    modes.push(bytes.readUInt32LE(at + 38) >>> 16);
  }
  return modes;
}

describe("zip()", () => {
  it("writes the same bytes for the same content", function* () {
    const entries = [{ name: "ä/b.txt", data: new TextEncoder().encode("hello ".repeat(100)) }];
    const [one, two] = yield* all([zip(entries), zip(entries)]);
    assert.deepEqual(one, two);
    assert.ok(one.length < 300);
  });

  it("writes files of any size, with names and modes", function* () {
    const large = new Uint8Array(3 * 2 ** 20 + 7).map((_, index) => index % 251);
    const packed = yield* zip([
      { name: "empty", data: new Uint8Array() },
      { name: "ä/large", data: large, executable: true },
    ]);
    const files = unzipSync(packed);
    assert.deepEqual(Object.keys(files), ["empty", "ä/large"]);
    assert.equal(files["empty"]!.length, 0);
    assert.equal(Buffer.compare(files["ä/large"]!, large), 0);
    assert.deepEqual(modesIn(packed), [0o100644, 0o100755]);
  });

  it("stops between two pieces when it is halted", function* () {
    let pieces = 0;
    // Each piece that is compressed is cut from the data once.
    const data = new Uint8Array(64 * 2 ** 20);
    const counted = Object.assign(data, {
      subarray(start?: number, end?: number) {
        pieces++;
        return Uint8Array.prototype.subarray.call(data, start, end);
      },
    });
    yield* scoped(function* () {
      yield* spawn(() => zip([{ name: "large", data: counted }]));
      while (pieces < 2) yield* sleep(0);
    });
    const before = pieces;
    yield* sleep(0);
    assert.equal(pieces, before);
    assert.ok(pieces < 64, `${pieces}`);
  });
});
