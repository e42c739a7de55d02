/**
 * Seals text with AES-256-GCM. Only a server with the same key can read sealed text, and changes to
 * the text are detected. A key id at the start allows keys to be rotated.
 *
 * Sealing is synchronous on purpose: `node:crypto` takes a few microseconds, WebCrypto about a
 * hundred.
 */
import process from "node:process";
import { Buffer } from "node:buffer";

const VERSION = 1;
const ID_BYTES = 4;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + ID_BYTES;

interface Key {
  /**
   * The version and the id of the key. Every text that the key has sealed starts with these bytes.
   */
  readonly head: Buffer;
  readonly secret: Buffer;
}

/**
 * The parameters that derive a key from a passphrase. The derivation is slow on purpose, so that
 * passphrases cannot be guessed fast; it takes about 50 ms, once per process. The salt is fixed,
 * because all servers with the same passphrase need the same key.
 */
const SCRYPT = { salt: "parley key 2", cost: { N: 16_384, r: 8, p: 1 } };

/**
 * Encrypts data that the server stores or sends to clients. Only servers with the same key can read
 * the data, and changes to it are detected. Pass several keys to rotate keys without losing calls
 * that wait: the first key seals, and all keys open.
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
   * The first key seals, and all keys open. A key is 32 random bytes, as a `Uint8Array` or in
   * base64url (43 characters), or a passphrase, from which a key is derived with scrypt.
   */
  constructor(...keys: readonly (Uint8Array | string)[]) {
    keys.forEach(checkLength);
    this.#given = keys;
  }

  /**
   * The keys are derived on first use: loading the hash functions would slow down the start of a
   * program.
   */
  get #keys(): readonly [Key, ...Key[]] {
    if (this.#made) return this.#made;
    const [first = nodeCrypto().randomBytes(32), ...rest] = this.#given;
    // Earlier versions did not stretch passphrases. The keys that they derived can open texts, but
    // seal none.
    const former = this.#given.filter(isPassphrase).map(formerKey);
    return this.#made = [toKey(first), ...rest.map(toKey), ...former.map(keyOf)];
  }

  /**
   * The ids of all keys. The first is that of the key that seals. An id reveals nothing about its
   * key.
   */
  get keyIds(): readonly string[] {
    return this.#keys.map(({ head }) => head.toString("hex", 1));
  }

  seal(plain: string | Uint8Array, context = ""): string {
    const [{ head, secret }] = this.#keys;
    const iv = this.#nextIv();
    const cipher = nodeCrypto().createCipheriv("aes-256-gcm", secret, iv);
    cipher.setAAD(inContext(head, context));
    const body = typeof plain === "string" ? cipher.update(plain, "utf8") : cipher.update(plain);
    // In GCM mode `final()` returns no data, but it must be called.
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

  /** Generates random bytes for many seals in one call, because each call is slower than a seal. */
  #nextIv(): Buffer {
    if (this.#used >= this.#ivs.length) {
      this.#ivs = nodeCrypto().randomBytes(IV_BYTES * 256);
      this.#used = 0;
    }
    return this.#ivs.subarray(this.#used, this.#used += IV_BYTES);
  }

  /**
   * Returns the plain text. Returns undefined if the key or the context differs, or if the sealed
   * text was changed.
   */
  open(sealed: string, context = ""): string | undefined {
    return this.openBytes(sealed, context)?.toString("utf8");
  }

  openBytes(sealed: string, context = ""): Buffer | undefined {
    const bytes = Buffer.from(sealed, "base64url");
    // `Buffer.from` skips invalid characters. Reject such texts: only the exact output of `seal` is
    // valid.
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

/**
 * Returns the id of the key that sealed a text. `sealed` may be cut after its first 8 characters.
 */
export function keyIdOf(sealed: string): string {
  return Buffer.from(sealed.slice(0, 8), "base64url").toString("hex", 1, HEAD_BYTES);
}

function checkLength(key: Uint8Array | string): void {
  if (typeof key === "string" || key.length === 32) return;
  throw new TypeError(
    `Cannot use a key of ${key.length} bytes: AES-256 needs 32 bytes; pass 32 bytes or a passphrase`,
  );
}

/**
 * Returns true if a key is a passphrase, which must be stretched because it could be guessed. 32
 * random bytes in base64url, as in the key file of a store, need no stretching. Such a text has 43
 * characters, with digits and letters of both cases; a passphrase that happens to look the same is
 * too long to be guessed.
 */
function isPassphrase(key: Uint8Array | string): key is string {
  if (typeof key !== "string") return false;
  const isRandom = /^[\w-]{43}$/.test(key) && /\d/.test(key) && /[a-z]/.test(key) &&
    /[A-Z]/.test(key) && Buffer.from(key, "base64url").toString("base64url") === key;
  return !isRandom;
}

/**
 * Returns the key that earlier versions derived from a text. It is safe only if the text is random.
 */
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
  // A UTF-16 code unit takes at most three bytes.
  const most = HEAD_BYTES + 3 * context.length;
  const whole = most <= workbench.length ? workbench : Buffer.allocUnsafe(most);
  whole.set(head);
  return whole.subarray(0, HEAD_BYTES + whole.write(context, HEAD_BYTES));
}

/** A buffer that is reused for each seal, because a new allocation is slower. */
const workbench = Buffer.alloc(4_096);

type NodeCrypto = typeof import("node:crypto");

let loaded: NodeCrypto | undefined;

export function nodeCrypto(): NodeCrypto {
  return loaded ??= process.getBuiltinModule("node:crypto");
}
