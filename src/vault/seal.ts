/**
 * A sealed document: JSON with the sealing parameters and the AES-256-GCM ciphertext. The parameters
 * and the document's name are authenticated, so that nobody can exchange one file for another.
 */
import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

export const VERSION = 1;

/** Where the key comes from. */
export type KeySource =
  | { readonly from: "key-file" }
  | { readonly from: "passphrase"; readonly salt: string; readonly cost: number };

export interface Sealed {
  readonly version: typeof VERSION;
  readonly key: KeySource;
  /** Identifies the key, to distinguish a wrong key from a damaged file. */
  readonly keyId: string;
  readonly nonce: string;
  readonly tag: string;
  readonly data: string;
}

/** Why a text cannot be read as a sealed document. */
export type Unreadable = "damaged" | "newer";

const COSTS = { least: 2 ** 14, most: 2 ** 18 };

/** Parses the parameters. They are not authenticated until `openSealed` succeeds. */
export function parseSealed(text: string): Sealed | Unreadable {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "damaged";
  }
  if (!isRecord(value)) return "damaged";
  const { version, key, keyId, nonce, tag, data } = value;
  if (typeof version === "number" && Number.isInteger(version) && version > VERSION) return "newer";
  if (version !== VERSION || !isKeySource(key)) return "damaged";
  const fits = isBase64(keyId, 8) && isBase64(nonce, 12) && isBase64(tag, 16) && isBase64(data);
  return fits ? { version, key, keyId, nonce, tag, data } : "damaged";
}

export function seal(name: string, text: string, key: Uint8Array, source: KeySource): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(boundTo(name, source));
  const data = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  const sealed: Sealed = {
    version: VERSION,
    key: source,
    keyId: keyIdOf(key),
    nonce: nonce.toString("base64"),
    tag: cipher.getAuthTag().toString("base64"),
    data: data.toString("base64"),
  };
  return `${JSON.stringify(sealed, null, 2)}\n`;
}

/** Decrypts a document. Undefined if the key is wrong, or if the document was changed. */
export function openSealed(name: string, sealed: Sealed, key: Uint8Array): string | undefined {
  try {
    const cipher = createDecipheriv("aes-256-gcm", key, Buffer.from(sealed.nonce, "base64"));
    cipher.setAAD(boundTo(name, sealed.key));
    cipher.setAuthTag(Buffer.from(sealed.tag, "base64"));
    const data = Buffer.from(sealed.data, "base64");
    return Buffer.concat([cipher.update(data), cipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}

export function keyIdOf(key: Uint8Array): string {
  return createHmac("sha256", key).update("parley vault key").digest().subarray(0, 8)
    .toString("base64");
}

function boundTo(name: string, source: KeySource): Buffer {
  const how = source.from === "key-file" ? ["key-file"] : [source.from, source.salt, source.cost];
  return Buffer.from(JSON.stringify(["parley vault", VERSION, name, ...how]));
}

/** Checks a key source. Limits the cost, because the key is derived before authentication. */
function isKeySource(value: unknown): value is KeySource {
  if (!isRecord(value)) return false;
  if (value["from"] === "key-file") return true;
  const { from, salt, cost } = value;
  return from === "passphrase" && isBase64(salt, 16) && typeof cost === "number" &&
    cost >= COSTS.least && cost <= COSTS.most && Number.isInteger(Math.log2(cost));
}

/** Accepts only canonical Base64, so that the same bytes always have the same text. */
function isBase64(value: unknown, bytes?: number): value is string {
  if (typeof value !== "string") return false;
  const decoded = Buffer.from(value, "base64");
  if (bytes !== undefined && decoded.length !== bytes) return false;
  return decoded.toString("base64") === value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
