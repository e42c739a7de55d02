/**
 * The Bluesky accounts of one caller, with their credentials. One of them is the default account.
 *
 * The list of accounts is one document, which contains no secrets. The credentials of each account
 * are in a separate document, so that refreshing a token changes only that one.
 *
 * ACCOUNT-1  Credentials are stored before the account is added to the list, and deleted after the
 *            account is removed from it.
 * ACCOUNT-2  An account whose sign-in has expired stays in the list, marked as signed out.
 */
import { ToolError, type Vault } from "parley-mcp";
import { createHash } from "node:crypto";
import type { Account, Method } from "./schemas.ts";
import { NOBODY_SIGNED_IN, signInAgain } from "./password-texts.ts";

/** The credentials of an account. The format of `secret` belongs to the AT Protocol library. */
export interface Credentials {
  readonly method: Method;
  readonly service: string;
  /** The OAuth client that signed in. The credentials are valid only for this client. */
  readonly clientId?: string;
  readonly secret: unknown;
}

interface Listing {
  readonly version: 1;
  readonly default: string | null;
  readonly accounts: readonly StoredAccount[];
}

type StoredAccount = Omit<Account, "default">;

const EMPTY: Listing = { version: 1, default: null, accounts: [] };

export class Accounts {
  readonly #vault: Vault;
  readonly #name: string;

  constructor(vault: Vault, principal: string) {
    this.#vault = vault;
    // Hash the caller's name, because anyone who opens the keyring can read entry names.
    this.#name = `bluesky-${principal === "" ? "local" : digest(principal)}`;
  }

  get where(): string {
    return this.#vault.where;
  }

  async list(): Promise<Account[]> {
    const { accounts, default: chosen } = read(await this.#vault.read(this.#name), this.where);
    return accounts.map((account) => ({ ...account, default: account.did === chosen }));
  }

  /** Finds an account by handle or DID. Default: the default account. */
  async find(actor?: string): Promise<Account | undefined> {
    const accounts = await this.list();
    return actor === undefined
      ? accounts.find((account) => account.default)
      : accounts.find(({ did, handle }) => did === actor || handle === actor);
  }

  /** Like `find`, but throws if there is no such account. */
  async get(actor?: string): Promise<Account> {
    const account = await this.find(actor);
    if (account) return account;
    if (actor === undefined) throw new ToolError(NOBODY_SIGNED_IN);
    const known = (await this.list()).map(({ handle }) => handle).join(", ");
    throw new ToolError(
      `Cannot use account "${actor}": ${
        known
          ? `it is not one of the accounts that are signed in (${known})`
          : "nobody is signed in"
      }; call login with handle "${actor}", or leave the account out`,
    );
  }

  async credentials(did: string): Promise<Credentials | undefined> {
    const text = await this.#vault.read(this.#secretOf(did));
    return text === undefined ? undefined : JSON.parse(text);
  }

  /** Stores the credentials of an account. */
  async keep(did: string, credentials: Credentials): Promise<void> {
    const text = JSON.stringify(credentials);
    await this.#vault.update(this.#secretOf(did), () => ({ text, value: undefined }));
  }

  /** Stores new tokens, unless another process has stored newer ones. */
  async renew(did: string, secret: unknown, before: unknown): Promise<void> {
    await this.#vault.update(this.#secretOf(did), (text) => {
      const now: Credentials | undefined = text === undefined ? undefined : JSON.parse(text);
      const ours = now && JSON.stringify(now.secret) === JSON.stringify(before);
      return { text: ours ? JSON.stringify({ ...now, secret }) : text, value: undefined };
    });
  }

  /** Deletes the credentials of an account, but keeps the account in the list (ACCOUNT-2). */
  async expire(did: string): Promise<void> {
    await this.#vault.update(this.#secretOf(did), () => ({ text: undefined, value: undefined }));
    await this.#change((listing) => ({
      ...listing,
      accounts: listing.accounts.map((one) => one.did === did ? { ...one, signedIn: false } : one),
    }));
  }

  /** Adds an account whose credentials are stored to the list. The first account is the default. */
  async add(account: StoredAccount): Promise<void> {
    await this.#change(({ accounts, default: chosen, version }) => ({
      version,
      default: chosen ?? account.did,
      accounts: [...accounts.filter(({ did }) => did !== account.did), account],
    }));
  }

  async choose(did: string): Promise<void> {
    await this.#change((listing) => ({ ...listing, default: did }));
  }

  /** Removes an account from the list, and then its credentials (ACCOUNT-1). */
  async remove(did: string): Promise<void> {
    await this.#change(({ accounts, default: chosen, version }) => {
      const left = accounts.filter((one) => one.did !== did);
      return { version, default: chosen === did ? left[0]?.did ?? null : chosen, accounts: left };
    });
    await this.#vault.update(this.#secretOf(did), () => ({ text: undefined, value: undefined }));
  }

  #change(change: (listing: Listing) => Listing): Promise<void> {
    return this.#vault.update(this.#name, (text) => {
      const listing = change(read(text, this.where));
      const empty = listing.accounts.length === 0;
      return { text: empty ? undefined : JSON.stringify(listing), value: undefined };
    });
  }

  #secretOf(did: string): string {
    return `${this.#name}-${digest(did)}`;
  }
}

/** Throws if the account is not signed in. */
export function checkSignedIn(account: Account): void {
  if (!account.signedIn) throw new ToolError(signInAgain(account.handle));
}

function read(text: string | undefined, where: string): Listing {
  if (text === undefined) return EMPTY;
  const listing = JSON.parse(text) as Partial<Listing>;
  if (listing.version === 1) return listing as Listing;
  throw new ToolError(
    `Cannot read the Bluesky accounts in ${where}: a later version of this program wrote them; update this program`,
  );
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 24);
}
