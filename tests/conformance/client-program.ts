/**
 * The client that the official suite tests: `parley call`, in this process. The suite appends the
 * URL of its server, and tells what a person would know in MCP_CONFORMANCE_CONTEXT.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** The suite accepts this address, and serves nothing there. */
const DOCUMENT = "https://conformance-test.local/client-metadata.json";

const url = process.argv.at(-1)!;
const { client_id: id, client_secret: secret } = JSON.parse(
  process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}",
);
const settings = mkdtempSync(join(tmpdir(), "parley-client-"));
process.on("exit", () => rmSync(settings, { recursive: true, force: true }));
process.env["XDG_CONFIG_HOME"] = process.env["APPDATA"] = process.env["HOME"] = settings;

const args = ["call", "test-tool", "{}", "--url", url, "--client-metadata-url", DOCUMENT];
if (id !== undefined) args.push("--client-id", id);
if (secret !== undefined) {
  writeFileSync(join(settings, "secret"), secret, { mode: 0o600 });
  args.push("--client-secret-file", join(settings, "secret"));
}
process.argv.splice(2, Infinity, ...args);
await import("../../src/main.ts");
