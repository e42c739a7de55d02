/**
 * A process that uses a vault, for tests that need several, or another environment: `worker.ts
 * OPTIONS COMMAND …` prints one line of JSON.
 */
import process from "node:process";
import { VaultError } from "../../src/vault/errors.ts";
import { openVault } from "../../src/vault/open.ts";

const [options = "{}", command, name = "", ...rest] = process.argv.slice(2);

async function obey(): Promise<unknown> {
  if (command === "entry") {
    // Writes into the keyring directly, as another version of this program would.
    const [entry = "", text = ""] = rest;
    const { AsyncEntry } = await import("@napi-rs/keyring");
    await new AsyncEntry(name, entry, { linux: { store: "secret-service" } }).setPassword(text);
    return true;
  }
  if (command === "bluesky") {
    const { defaultSetup } = await import("../../tools/bluesky/setup.ts");
    return await (await defaultSetup().vault()).read(name);
  }
  const vault = await openVault(JSON.parse(options));
  switch (command) {
    case "where":
      return vault.where;
    case "read":
      return await vault.read(name);
    case "write":
      return await vault.update(name, () => ({ text: rest[0], value: true }));
    case "count": {
      // Prints each document that it has stored, so that a test that kills it can check them.
      for (let times = Number(rest[0]); times > 0; times--) {
        const value = await vault.update(name, (text) => {
          const value = Number(text?.split(" ")[0] ?? 0) + 1;
          return { text: `${value} ${"x".repeat(Number(rest[1] ?? 0))}`, value };
        });
        process.stdout.write(`${value}\n`);
      }
      return "counted";
    }
    default:
      throw new Error(`Cannot obey "${command}"`);
  }
}

try {
  process.stdout.write(`${JSON.stringify({ value: await obey() })}\n`);
} catch (error) {
  if (!(error instanceof VaultError)) throw error;
  const { problem, message } = error;
  process.stdout.write(`${JSON.stringify({ problem, message })}\n`);
}
