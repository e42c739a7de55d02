/** Certificates for one test: P-256, self-signed or signed by an authority of the test. */
import { Buffer } from "node:buffer";
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** A private certificate authority. */
export interface Authority extends Certificate {
  readonly name: string;
  readonly privateKey: KeyObject;
}

export interface CertificateOptions {
  /** Who signs it. Default: it signs itself, and is an authority. */
  readonly authority?: Authority;
  /** Milliseconds from now at which it expires. Default: a day. */
  readonly expiresIn?: number;
}

const DAY = 24 * 3_600_000;

export function certificateFor(hostname: string, options: CertificateOptions = {}): Certificate {
  const { cert, key } = signed(hostname, options);
  return { cert, key };
}

export function createAuthority(name = "A private authority"): Authority {
  return { ...signed(name, {}), name };
}

function signed(
  hostname: string,
  { authority, expiresIn = DAY }: CertificateOptions,
): Certificate & { privateKey: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(oid("2a8648ce3d040302")); // ecdsa-with-SHA256
  const names = sequence(der(0x82, Buffer.from(hostname)));
  const isAuthority = sequence(...(authority ? [] : [der(0x01, Buffer.from([0xff]))]));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    nameOf(authority?.name ?? hostname),
    sequence(time(Date.now() - 2 * DAY), time(Date.now() + expiresIn)),
    nameOf(hostname),
    publicKey.export({ type: "spki", format: "der" }),
    der(
      0xa3,
      sequence(
        sequence(oid("551d11"), der(0x04, names)),
        sequence(oid("551d13"), der(0x04, isAuthority)),
      ),
    ),
  );
  const signer = authority?.privateKey ?? privateKey;
  const signature = Buffer.concat([Buffer.from([0]), sign("sha256", body, signer)]);
  const whole = sequence(body, algorithm, der(0x03, signature)).toString("base64");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${
      whole.replace(/.{64}/g, "$&\n")
    }\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    privateKey,
  };
}

function nameOf(name: string): Buffer {
  return sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(name)))));
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [
    0x82,
    length >> 8,
    length & 0xff,
  ];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replace(/[-:T]|\.\d+/g, "");
  return der(0x18, Buffer.from(digits));
}
