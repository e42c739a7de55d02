/** What the Bluesky tools stand on, and can be given otherwise. */
import process from "node:process";
import { directNetwork, type Network } from "./net/network.ts";
import type { Vault } from "./vault/types.ts";

export interface BlueskySetup {
  /** Where credentials are kept. */
  readonly vault: () => Promise<Vault>;
  /** Where people sign in who say nothing else. */
  readonly service: string;
  /** Where DIDs are looked up. */
  readonly plc: string;
  /** How requests leave this machine. */
  readonly network: Network;
  /** When a request has taken too long. */
  readonly deadline: () => AbortSignal;
  readonly now: () => number;
}

/** Seconds that a service has to answer. */
export const REQUEST_TIMEOUT_SECONDS = 20;

/** Minutes that a person has to sign in with the browser. */
export const MINUTES = 10;

export function defaultSetup(environment = process.env): BlueskySetup {
  let vault: Promise<Vault> | undefined;
  return {
    // One that could not be opened may be open the next time.
    vault: () =>
      vault ??= open().catch((error) => {
        vault = undefined;
        throw error;
      }),
    service: environment["PARLEY_BLUESKY_SERVICE"] ?? "https://bsky.social",
    plc: environment["PARLEY_BLUESKY_PLC"] ?? "https://plc.directory",
    network: directNetwork(),
    deadline: () => AbortSignal.timeout(REQUEST_TIMEOUT_SECONDS * 1_000),
    now: Date.now,
  };
}

/** Loaded when it is first needed: most calls of this program never touch it. */
async function open(): Promise<Vault> {
  const { openVault } = await import("./vault/vault.ts");
  return await openVault();
}
