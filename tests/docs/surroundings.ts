/** The configuration of other programs in docs/serving.md, tried with those programs. */
import assert from "node:assert/strict";
import { run, until } from "effection";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { unpackPages } from "../harness/pages.ts";
import { runProgram, useProgram } from "../support/program.ts";
import { freePort } from "./free-port.ts";

type Environment = { readonly [name: string]: string | undefined };

/** The unit file, as systemd reads it; skipped with a message if systemd is missing. */
export function checkUnit(clone: string): Promise<string> {
  return run(function* () {
    if (!isThere("systemd-analyze")) return "SKIPPED, there is no systemd: parley.service";
    const folder = configured(clone);
    const unit = readFileSync(join(folder, "parley.service"), "utf8")
      .replace("/usr/local/bin/parley", join(clone, "dist/parley"));
    writeFileSync(join(folder, "parley.service"), unit);
    const { code, stdout, stderr } = yield* runProgram(["verify", join(folder, "parley.service")], {
      start: ["systemd-analyze"],
    });
    const about = (stdout + stderr).split("\n").filter((line) => line.includes("parley.service"));
    assert.deepEqual([code, about], [0, []], stdout + stderr);
    return "systemd-analyze verify parley.service";
  });
}

/** Calls through nginx as it is configured there; skipped with a message if nginx is missing. */
export function checkProxy(clone: string, env: Environment): Promise<string> {
  return run(function* () {
    if (!isThere("nginx", "-v")) return "SKIPPED, there is no nginx: nginx.conf";
    const folder = configured(clone);
    const start = [join(clone, "dist/parley")] as const;
    const serve = ["serve", "tools", "--port", "0", "--allow-host", "tools.example.com"];
    const server = yield* useProgram(serve, { start, cwd: clone, env });
    const [, behind] = yield* until(server.says(/http:\/\/127\.0\.0\.1:(\d+)\/mcp/));
    const port = yield* until(freePort());
    const shown = readFileSync(join(folder, "nginx.conf"), "utf8")
      .replace("127.0.0.1:7411", `127.0.0.1:${behind}`)
      .replace("listen 8411", `listen 127.0.0.1:${port}`);
    const file = join(folder, "whole.conf");
    writeFileSync(file, wholeConfiguration(folder, shown));
    const proxy = yield* useProgram(["-c", file, "-p", folder], { start: ["nginx"] });
    yield* until(proxy.says(/event method/));

    const name = "tools.example.com";
    const resolve = ["--resolve", `${name}:${port}:127.0.0.1`];
    const request = ["--fail", "--silent", "--json", INITIALIZE, "-H", ACCEPT];
    const curl = [...resolve, ...request, `http://${name}:${port}/mcp`];
    const named = yield* runProgram(curl, { start: ["curl"] });
    assert.match(named.stdout, /"protocolVersion":"2025-06-18"/, named.stderr + proxy.stderr);

    const call = ["call", "book_flight", '{"from":"BER","to":"LIS"}'];
    const url = ["--url", `http://127.0.0.1:${port}/mcp`];
    const asked = yield* runProgram([...call, ...url], { start, cwd: clone, env });
    assert.match(
      asked.stderr,
      /The tool asks the model: Which flight/,
      asked.stderr + proxy.stderr,
    );
    return "calls through nginx.conf";
  });
}

const ACCEPT = "accept: application/json, text/event-stream";
const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "curl", version: "1" },
  },
});

/** The nginx configuration around a server block, in its own folder. */
function wholeConfiguration(folder: string, server: string): string {
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`).join("\n");
  return `daemon off; master_process off; pid ${folder}/pid; error_log stderr notice; events {}
    http { access_log off; ${paths} ${server} }`;
}

function configured(clone: string): string {
  const folder = mkdtempSync(join(dirname(clone), "configured-"));
  unpackPages(folder, ["docs/serving.md"]);
  return folder;
}

function isThere(command: string, flag = "--version"): boolean {
  return spawnSync(command, [flag], { stdio: "ignore" }).status === 0;
}
