/** The MCP Inspector's command line, against the executable. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installPeers, peerCommand } from "../harness/peers.ts";
import { describe, it } from "../suite.ts";
import { runProgram, serveModules } from "../support/child-server.ts";

/** The Inspector's output, as JSON. Its own files go into a temporary folder. */
async function inspect(url: string, home: string, ...args: string[]): Promise<unknown> {
  const command = ["--cli", url, "--transport", "http", ...args];
  const program = [...peerCommand("inspector"), ...command] as const;
  const { code, stdout, stderr } = await runProgram(program, { HOME: home });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

describe("the MCP Inspector's command line", () => {
  it("lists the tools, calls one, and reads a prompt and a resource", async () => {
    installPeers();
    const home = mkdtempSync(join(tmpdir(), "parley-inspector-"));
    const server = await serveModules("tests/conformance/everything.ts");
    try {
      const see = (...args: string[]) => inspect(server.url, home, "--method", ...args);
      const { tools } = await see("tools/list") as { tools: { name: string }[] };
      assert.ok(tools.some(({ name }) => name === "greet"));
      assert.deepEqual(
        await see("tools/call", "--tool-name", "greet", "--tool-arg", "name=Ada"),
        { content: [{ type: "text", text: "Hello, Ada!" }] },
      );
      const prompt = await see("prompts/get", "--prompt-name", "test_simple_prompt");
      assert.equal((prompt as { messages: unknown[] }).messages.length, 1);
      const text = await see("resources/read", "--uri", "test://static-text");
      assert.equal((text as { contents: unknown[] }).contents.length, 1);
    } finally {
      await server.stop();
      rmSync(home, { recursive: true, force: true });
    }
  }, { within: 60_000 });
});
