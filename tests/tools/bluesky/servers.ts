/** The Bluesky tools, served to an assistant in every possible way. */
import { type Operation, resource, until } from "effection";
import { createParley, type Fault, type ParleyOptions } from "parley-mcp";
import { join } from "node:path";
import process from "node:process";
import { listen } from "../../../src/platform/listen.ts";
import { createBlueskyTools } from "../../../tools/bluesky.ts";
import { type BlueskySetup, defaultSetup } from "../../../tools/bluesky/setup.ts";
import type { Vault } from "../../../src/vault/types.ts";
import { openVault } from "../../../src/vault/vault.ts";
import { root } from "../../harness/files.ts";
import { fromSource, type Start } from "../../support/program.ts";
import { type Address, type Era } from "./assistant.ts";

/** The addresses of the services, such as the test network's. */
export interface Services {
  readonly pds: string;
  readonly plc: string;
}

export interface Served {
  readonly address: Address;
  /** What is stored, as the server sees it. */
  readonly vault: Vault;
  readonly faults: readonly Fault[];
  /** Everything that was reported to the operator. */
  readonly log: readonly string[];
  /** How many streams are open, if the server is in this process. */
  streams?(): number;
}

export interface Way {
  readonly name: string;
  readonly era: Era;
  use(services: Services, folder: string, options?: ServeOptions): Operation<Served>;
}

export interface ServeOptions extends ParleyOptions {
  readonly setup?: Partial<BlueskySetup>;
}

/** On a socket in this process, for both eras. */
export function useHttp(
  { pds, plc }: Services,
  folder: string,
  { setup, ...options }: ServeOptions = {},
): Operation<Served> {
  return resource(function* (provide) {
    const vault = yield* until(openVault({ folder, keyring: false }));
    const tools = createBlueskyTools({
      ...defaultSetup({}),
      vault: () => Promise.resolve(vault),
      service: pds,
      plc,
      ...setup,
    });
    const faults: Fault[] = [];
    const log: string[] = [];
    let origin: string | undefined = undefined;
    const parley = createParley({
      serve: Object.values(tools),
      publicUrl: () => origin,
      report: (fault) => void faults.push(fault),
      onCall: (call) => void log.push(JSON.stringify(call)),
      ...options,
    });
    const server = yield* until(listen(parley.fetch, { port: 0, hostname: "127.0.0.1" }));
    origin = `http://127.0.0.1:${server.port}`;
    try {
      const streams = () => parley.counts.streams;
      yield* provide({ address: { url: `${origin}/mcp` }, vault, faults, log, streams });
    } finally {
      yield* until(parley.close());
      yield* until(server.stop());
    }
  });
}

/** As its own program, which the assistant starts. */
function useStdio(
  services: Services,
  folder: string,
  { formPasswords = false }: ServeOptions = {},
): Operation<Served> {
  const flags = formPasswords ? ["--allow-form-passwords"] : [];
  const args = [join(root, "tools/bluesky.ts"), ...flags];
  return useProgramOnStdio(services, folder, fromSource(), args);
}

/** However the program is started. */
export function useProgramOnStdio(
  { pds, plc }: Services,
  folder: string,
  [command, ...args]: Start,
  more: readonly string[],
): Operation<Served> {
  return resource(function* (provide) {
    const vault = yield* until(openVault({ folder: join(folder, "parley/vault"), keyring: false }));
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: process.env["HOME"] ?? folder,
      XDG_CONFIG_HOME: folder,
      PARLEY_KEYRING: "off",
      PARLEY_BLUESKY_SERVICE: pds,
      PARLEY_BLUESKY_PLC: plc,
    };
    const address = { command, args: [...args, "stdio", ...more], env };
    yield* provide({ address, vault, faults: [], log: [] });
  });
}

export const WAYS: readonly Way[] = [
  { name: "HTTP, legacy", era: "legacy", use: useHttp },
  { name: "HTTP, modern", era: "modern", use: useHttp },
  { name: "stdio, legacy", era: "legacy", use: useStdio },
  { name: "stdio, modern", era: "modern", use: useStdio },
];
