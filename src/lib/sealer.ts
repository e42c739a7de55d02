/**
 * Seals text so that only this server, or one with the same key, can read it or
 * change it: AES-256-GCM, with a key id in front so that keys can be rotated.
 *
 * Synchronous on purpose: `node:crypto` does it in a few microseconds, WebCrypto
 * takes a hundred.
 */
import process from "node:process";
import { Buffer } from "node:buffer";

const VERSION = 1;
const ID_BYTES = 4;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + ID_BYTES;

interface Key {
  /** The version and the key's id, which stand before everything that it has sealed. */
  readonly head: Buffer;
  readonly secret: Buffer;
}

/**
 * Makes a key of a passphrase slowly, so that passphrases cannot be tried out fast. All servers
 * with the same passphrase must come to the same key, so the salt is the same for all. One
 * derivation takes some 50 ms, and is done once.
 */
const SCRYPT = { salt: "parley key 2", cost: { N: 16_384, r: 8, p: 1 } };

/**
 * Seals what is handed out or stored, so that only servers with the same key can read
 * it, and nobody can change it. Give one key, or several to change keys without
 * losing calls that wait: the first seals, all of them open.
 *
 * @example
 * ```ts
 * import { createParley, Sealer } from "parley-mcp";
 *
 * const keys = ["the new key, at least 16 characters", "the old key, until it has expired"];
 * const parley = createParley({ sealer: new Sealer(...keys) });
 * await parley.close();
 * ```
 */
export class Sealer {
  readonly #given: readonly (Uint8Array | string)[];
  #made: readonly [Key, ...Key[]] | undefined;
  #ivs: Buffer = Buffer.alloc(0);
  #used = 0;

  /**
   * The first key seals, all of them open. Each is 32 random bytes, as they are or as 43
   * base64url characters, or a passphrase of any length, of which a key is derived (scrypt).
   */
  constructor(...keys: readonly (Uint8Array | string)[]) {
    keys.forEach(checkLength);
    this.#given = keys;
  }

  /** Made when they are first needed: hashing takes long to get ready, at the start of a program. */
  get #keys(): readonly [Key, ...Key[]] {
    if (this.#made) return this.#made;
    const [first = nodeCrypto().randomBytes(32), ...rest] = this.#given;
    // What was sealed before passphrases were stretched opens, and nothing more is sealed so.
    const former = this.#given.filter(isPassphrase).map(formerKey);
    return this.#made = [toKey(first), ...rest.map(toKey), ...former.map(keyOf)];
  }

  /** The ids of its keys, the one that seals first. They tell nothing about the keys. */
  get keyIds(): readonly string[] {
    return this.#keys.map(({ head }) => head.toString("hex", 1));
  }

  seal(plain: string | Uint8Array, context = ""): string {
    const [{ head, secret }] = this.#keys;
    const iv = this.#nextIv();
    const cipher = nodeCrypto().createCipheriv("aes-256-gcm", secret, iv);
    cipher.setAAD(inContext(head, context));
    const body = typeof plain === "string" ? cipher.update(plain, "utf8") : cipher.update(plain);
    // In this mode nothing is left for the end, but it must be said that it is there.
    cipher.final();
    const tagged = HEAD_BYTES + IV_BYTES + body.length;
    const length = tagged + TAG_BYTES;
    const whole = length <= workbench.length ? workbench : Buffer.allocUnsafe(length);
    whole.set(head);
    whole.set(iv, HEAD_BYTES);
    whole.set(body, HEAD_BYTES + IV_BYTES);
    whole.set(cipher.getAuthTag(), tagged);
    return whole.toString("base64url", 0, length);
  }

  /** Random numbers are drawn for many seals at once: drawing takes longer than sealing. */
  #nextIv(): Buffer {
    if (this.#used >= this.#ivs.length) {
      this.#ivs = nodeCrypto().randomBytes(IV_BYTES * 256);
      this.#used = 0;
    }
    return this.#ivs.subarray(this.#used, this.#used += IV_BYTES);
  }

  /** What was sealed, or nothing if it was not sealed here, for this context, or was touched. */
  open(sealed: string, context = ""): string | undefined {
    return this.openBytes(sealed, context)?.toString("utf8");
  }

  openBytes(sealed: string, context = ""): Buffer | undefined {
    const bytes = Buffer.from(sealed, "base64url");
    // Decoding is lenient: it skips what is not base64url. Only our own spelling counts.
    if (bytes.toString("base64url") !== sealed) return undefined;
    if (bytes.length < HEAD_BYTES + IV_BYTES + TAG_BYTES || bytes[0] !== VERSION) return undefined;
    const head = bytes.subarray(0, HEAD_BYTES);
    const key = this.#keys.find((key) => key.head.equals(head));
    if (!key) return undefined;
    const iv = bytes.subarray(HEAD_BYTES, HEAD_BYTES + IV_BYTES);
    const body = bytes.subarray(HEAD_BYTES + IV_BYTES, bytes.length - TAG_BYTES);
    const decipher = nodeCrypto().createDecipheriv("aes-256-gcm", key.secret, iv);
    decipher.setAAD(inContext(key.head, context));
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
    try {
      return Buffer.concat([decipher.update(body), decipher.final()]);
    } catch {
      return undefined;
    }
  }
}

function checkLength(key: Uint8Array | string): void {
  if (typeof key === "string" || key.length === 32) return;
  throw new TypeError(
    `Cannot use a key of ${key.length} bytes: AES-256 takes 32; give 32 bytes or a string`,
  );
}

/**
 * Whether a key is a text that may be guessed. One of 43 base64url characters, as in the file of
 * a store's key, is 32 random bytes: stretching it would only cost time at every start.
 */
function isPassphrase(key: Uint8Array | string): key is string {
  return typeof key === "string" && !/^[\w-]{43}$/.test(key);
}

/** The key that a text was before passphrases were stretched: good for random texts only. */
export function formerKey(text: string): Buffer {
  return nodeCrypto().createHash("sha256").update(`parley key\0${text}`).digest();
}

function toKey(key: Uint8Array | string): Key {
  if (typeof key !== "string") return keyOf(Buffer.from(key));
  if (!isPassphrase(key)) return keyOf(formerKey(key));
  return keyOf(nodeCrypto().scryptSync(key, SCRYPT.salt, 32, SCRYPT.cost));
}

function keyOf(secret: Buffer): Key {
  const id = nodeCrypto().createHash("sha256").update("parley key id\0").update(secret).digest();
  return { head: Buffer.concat([Buffer.of(VERSION), id.subarray(0, ID_BYTES)]), secret };
}

function inContext(head: Buffer, context: string): Uint8Array {
  // No character takes more than three bytes.
  const most = HEAD_BYTES + 3 * context.length;
  const whole = most <= workbench.length ? workbench : Buffer.allocUnsafe(most);
  whole.set(head);
  return whole.subarray(0, HEAD_BYTES + whole.write(context, HEAD_BYTES));
}

/** Where things are put together that are used at once: making room each time costs more. */
const workbench = Buffer.alloc(4_096);

type NodeCrypto = typeof import("node:crypto");

let loaded: NodeCrypto | undefined;

export function nodeCrypto(): NodeCrypto {
  return loaded ??= process.getBuiltinModule("node:crypto");
}
