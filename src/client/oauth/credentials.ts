/**
 * The credentials of sign-ins, in the vault. Each authorization server has one document, named by a
 * hash of its issuer, so that credentials of one issuer are never sent to another. A list of all
 * servers says which document belongs to which server, for signing out.
 */
import { createHash } from "node:crypto";
import type { JWK } from "jose";
import type { Vault } from "../../vault/types.ts";
import { ClientError } from "../client-error.ts";

/** A client that was registered with an authorization server by this program. */
export interface StoredClient {
  readonly id: string;
  readonly secret?: string;
  readonly method?: string;
  /** Seconds since the epoch. */
  readonly secretExpiresAt?: number;
  /** The port of the callback URL that is registered. */
  readonly port: number;
}

/** The tokens for one server. */
export interface StoredTokens {
  readonly clientId: string;
  readonly access: string;
  readonly refresh?: string;
  /** The scopes that were granted, separated by spaces. */
  readonly scope?: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number;
  /** The private key that the tokens are bound to. Undefined for bearer tokens. */
  readonly key?: JWK;
}

/** A sign-in to one server. */
export interface SignedIn {
  readonly issuer: string;
  readonly tokens: StoredTokens;
}

interface IssuerDocument {
  readonly version: 1;
  readonly issuer: string;
  readonly client?: StoredClient;
  /** The tokens for each server, by the URL of the server. */
  readonly tokens: { readonly [server: string]: StoredTokens };
}

interface ServerList {
  readonly version: 1;
  /** The issuer of each server, by the URL of the server. */
  readonly issuers: { readonly [server: string]: string };
}

const LIST = "oauth-servers";

export class Credentials {
  readonly #vault: Vault;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  async client(issuer: string): Promise<StoredClient | undefined> {
    return (await this.#read(issuer))?.client;
  }

  async tokens(issuer: string, server: string): Promise<StoredTokens | undefined> {
    return (await this.#read(issuer))?.tokens[server];
  }

  async keepClient(issuer: string, client: StoredClient | undefined): Promise<void> {
    await this.#change(issuer, ({ client: _, ...rest }) => client ? { ...rest, client } : rest);
  }

  /** Runs `body` while no other process refreshes tokens. */
  refreshing<T>(body: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#vault.exclusively("refresh", body, signal);
  }

  /** Stores the tokens for a server, and removes its tokens from an earlier issuer. */
  async keepTokens(issuer: string, server: string, tokens: StoredTokens): Promise<void> {
    await this.#change(issuer, (before) => ({
      ...before,
      tokens: { ...before.tokens, [server]: tokens },
    }));
    const former = await this.#changeList((issuers) => ({ ...issuers, [server]: issuer }), server);
    if (former !== undefined && former !== issuer) await this.#dropTokens(former, server);
  }

  /** Removes the tokens for a server. Returns them with their issuer; undefined if there are none. */
  async remove(
    server: string,
  ): Promise<{ issuer: string; tokens: StoredTokens | undefined } | undefined> {
    const issuer = await this.#changeList(({ [server]: _, ...rest }) => rest, server);
    if (issuer === undefined) return undefined;
    const tokens = await this.tokens(issuer, server);
    await this.#dropTokens(issuer, server);
    return { issuer, tokens };
  }

  /** The issuer of the tokens for a server. */
  async issuerOf(server: string): Promise<string | undefined> {
    const list = parsed<ServerList>(await this.#vault.read(LIST), this.#vault.where);
    return list?.issuers[server];
  }

  /** The sign-in to a server. Undefined if there is none. */
  async signedIn(server: string): Promise<SignedIn | undefined> {
    const issuer = await this.issuerOf(server);
    const tokens = issuer === undefined ? undefined : await this.tokens(issuer, server);
    return tokens && { issuer: issuer!, tokens };
  }

  /** The servers that somebody is signed in to. */
  async servers(): Promise<string[]> {
    const list = parsed<ServerList>(await this.#vault.read(LIST), this.#vault.where);
    return Object.keys(list?.issuers ?? {});
  }

  async #read(issuer: string): Promise<IssuerDocument | undefined> {
    const text = await this.#vault.read(nameOf(issuer));
    const document = parsed<IssuerDocument>(text, this.#vault.where);
    return document?.issuer === issuer ? document : undefined;
  }

  async #dropTokens(issuer: string, server: string): Promise<void> {
    await this.#change(issuer, (before) => {
      const { [server]: _, ...tokens } = before.tokens;
      return { ...before, tokens };
    });
  }

  #change(issuer: string, change: (before: IssuerDocument) => IssuerDocument): Promise<void> {
    return this.#vault.update(nameOf(issuer), (text) => {
      const found = parsed<IssuerDocument>(text, this.#vault.where);
      const before = found?.issuer === issuer ? found : { version: 1, issuer, tokens: {} } as const;
      const after = change(before);
      const isEmpty = !after.client && Object.keys(after.tokens).length === 0;
      return { text: isEmpty ? undefined : JSON.stringify(after), value: undefined };
    });
  }

  /** Changes the list of servers. Returns the issuer that the server had before. */
  #changeList(
    change: (issuers: ServerList["issuers"]) => ServerList["issuers"],
    server: string,
  ): Promise<string | undefined> {
    return this.#vault.update(LIST, (text) => {
      const before = parsed<ServerList>(text, this.#vault.where)?.issuers ?? {};
      const issuers = change(before);
      const isEmpty = Object.keys(issuers).length === 0;
      const list: ServerList = { version: 1, issuers };
      return { text: isEmpty ? undefined : JSON.stringify(list), value: before[server] };
    });
  }
}

function nameOf(issuer: string): string {
  return `oauth-${createHash("sha256").update(issuer).digest("hex").slice(0, 32)}`;
}

function parsed<T extends { readonly version: number }>(
  text: string | undefined,
  where: string,
): T | undefined {
  if (text === undefined) return undefined;
  const value = JSON.parse(text) as T;
  if (value.version === 1) return value;
  throw new ClientError(
    `Cannot read your sign-ins in ${where}: a later version of Parley stored them; update Parley`,
  );
}
