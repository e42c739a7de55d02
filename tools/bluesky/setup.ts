/** The dependencies of the Bluesky tools. Tests replace them. */
import { openVault, type Vault } from "parley-mcp";
import process from "node:process";
import type { Network } from "./net/network.ts";

export interface BlueskySetup {
  /** Opens the vault for credentials. */
  readonly vault: () => Promise<Vault>;
  /** The service to sign in to by default. */
  readonly service: string;
  /** The directory that resolves DIDs. */
  readonly plc: string;
  /** The network for outgoing requests. */
  readonly network: Network;
  /** A signal that aborts a request after its timeout. */
  readonly deadline: () => AbortSignal;
  readonly now: () => number;
}

/** Seconds before a request to a service times out. */
export const REQUEST_TIMEOUT_SECONDS = 20;

/** Minutes before a sign-in in the browser times out. */
export const MINUTES = 10;

/** The name of the entries in the keyring. Accounts that are stored are found only under this name. */
const KEYRING_LABEL = "Parley Bluesky";

export function defaultSetup(environment = process.env): BlueskySetup {
  let vault: Promise<Vault> | undefined;
  return {
    // Do not cache a failure: the next attempt may succeed.
    vault: () =>
      vault ??= openVault({ label: KEYRING_LABEL }).catch((error) => {
        vault = undefined;
        throw error;
      }),
    service: environment["PARLEY_BLUESKY_SERVICE"] ?? "https://bsky.social",
    plc: environment["PARLEY_BLUESKY_PLC"] ?? "https://plc.directory",
    network: lazyNetwork,
    deadline: () => AbortSignal.timeout(REQUEST_TIMEOUT_SECONDS * 1_000),
    now: Date.now,
  };
}

/** The network of this machine. Node's HTTP client is loaded on first use, so that servers start fast. */
const lazyNetwork: Network = {
  resolve: async (hostname) => (await direct()).resolve(hostname),
  send: async (request, addresses) => (await direct()).send(request, addresses),
};

async function direct(): Promise<Network> {
  return (await import("./net/network.ts")).directNetwork();
}
