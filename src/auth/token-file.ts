/**
 * A file of static bearer tokens, for programs that cannot sign in. Each line has the name of a
 * caller, the hash of its token, and its scopes:
 *
 *     nightly-build sha256:1Q0Tj… flights:read flights:book
 *
 * TOKENFILE-1  The file holds hashes only. Tokens have 256 random bits, so that a fast hash is
 *              enough.
 * TOKENFILE-2  The file is read again after it has changed, at most a second later. If that fails,
 *              the operator is told, and the tokens that were read before stay valid.
 */
import { Buffer } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/message-of.ts";
import { nodeCrypto } from "../lib/sealer.ts";
import type { Principal } from "../model/principal.ts";
import { hashOf } from "./token-cache.ts";

interface StaticToken {
  readonly hash: Buffer;
  readonly principal: Principal;
}

/** Milliseconds between two checks whether the file has changed. */
const EVERY = 1_000;
const PREFIX = "parley_";
const LINE =
  /^(?<name>[\w.@-]{1,64})[ \t]+sha256:(?<hash>[\w-]{43})(?<scopes>(?:[ \t]+[^\s"\\]+)*)$/;

export class TokenFile {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #report: (error: Error) => void;
  #tokens: readonly StaticToken[];
  #stamp: string;
  #nextLook: number;

  /** Throws if the file cannot be read. Later problems go to `report`. */
  constructor(path: string, clock: Clock, report: (error: Error) => void) {
    this.#path = path;
    this.#clock = clock;
    this.#report = report;
    this.#stamp = stampOf(path) ?? "";
    this.#tokens = tokensIn(path);
    this.#nextLook = clock.now() + EVERY;
  }

  /** The caller whose token has this hash. The search takes the same time for every hash. */
  find(hash: string): Principal | undefined {
    this.#look();
    const { timingSafeEqual } = nodeCrypto();
    const given = Buffer.from(hash, "hex");
    let found: Principal | undefined;
    for (const token of this.#tokens) {
      if (timingSafeEqual(token.hash, given)) found = token.principal;
    }
    return found;
  }

  /** Whether the file still has the token of a caller, with the same name and scopes. */
  has(hash: string, { id, scopes }: Principal): boolean {
    const found = this.find(hash);
    return found !== undefined && found.id === id && found.scopes.join(" ") === scopes.join(" ");
  }

  /** Reads the file again if it has changed (TOKENFILE-2). */
  #look(): void {
    const now = this.#clock.now();
    if (now < this.#nextLook) return;
    this.#nextLook = now + EVERY;
    const stamp = stampOf(this.#path);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp ?? "";
    try {
      this.#tokens = tokensIn(this.#path);
    } catch (error) {
      this.#report(error as Error);
    }
  }
}

/** Returns a new token, and the line for the file, which contains only the hash (TOKENFILE-1). */
export function newToken(
  name: string,
  scopes: readonly string[],
): { readonly token: string; readonly line: string } {
  const token = PREFIX + nodeCrypto().randomBytes(32).toString("base64url");
  const hash = Buffer.from(hashOf(token), "hex").toString("base64url");
  const line = [name, `sha256:${hash}`, ...scopes].join(" ");
  if (LINE.test(line)) return { token, line };
  throw new TypeError(
    `Cannot create a token for "${name}": the name or a scope has characters that the file cannot hold; use letters, digits, dots and dashes`,
  );
}

function stampOf(path: string): string | undefined {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return undefined;
  }
}

function tokensIn(path: string): StaticToken[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(
      `Cannot read the token file "${path}": ${
        messageOf(error)
      }; check the path and its permissions`,
    );
  }
  return text.split("\n").flatMap((line, index) => {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) return [];
    const { name, hash, scopes } = LINE.exec(trimmed)?.groups ?? {};
    if (name !== undefined) {
      return [{ hash: Buffer.from(hash!, "base64url"), principal: principalOf(name, scopes!) }];
    }
    throw new Error(
      `Cannot read the token file "${path}": line ${
        index + 1
      } is no name with a hash; add tokens with "parley token"`,
    );
  });
}

function principalOf(name: string, scopes: string): Principal {
  return Object.freeze({
    id: `token|${name}`,
    subject: name,
    scopes: Object.freeze(scopes.split(/\s+/).filter((scope) => scope !== "")),
    claims: Object.freeze({}),
  });
}
