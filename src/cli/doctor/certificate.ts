/** The TLS certificate of a server. */
import { call, type Operation, race, resource, sleep } from "effection";
import { connect } from "node:tls";
import type { Finding } from "./probe.ts";

const DAY = 24 * 3_600_000;
/**
 * The check warns this many days before the certificate expires. Automatic renewal happens earlier.
 */
const SOON = 14;

const RENEW = "renew the certificate, and check that it is renewed automatically";

/** Checks how long the certificate is valid. Other checks show whether it is trusted. */
export function* certificateFinding(
  url: URL,
  patience: number,
  now: number,
): Operation<Finding | undefined> {
  const until = yield* race([validUntil(url), none(patience)]);
  return until === undefined ? undefined : expiryFinding(until, now);
}

function* none(patience: number): Operation<undefined> {
  yield* sleep(patience);
  return undefined;
}

/**
 * When the certificate expires. Undefined if there is no TLS connection; a later request reports
 * the reason.
 */
function* validUntil({ hostname, port }: URL): Operation<number | undefined> {
  const host = hostname.replace(/^\[|\]$/g, "");
  const socket = yield* resource<ReturnType<typeof connect>>(function* (provide) {
    // Certificates that are not trusted are accepted here, because only their dates are read.
    const options = { host, port: Number(port || 443), rejectUnauthorized: false };
    const named = /^[\d.]+$|:/.test(host) ? options : { ...options, servername: host };
    const made = connect(named);
    made.on("error", () => {});
    try {
      yield* provide(made);
    } finally {
      made.destroy();
    }
  });
  return yield* call(() =>
    new Promise<number | undefined>((resolve) => {
      socket.once("secureConnect", () => {
        const date = Date.parse(socket.getPeerCertificate()?.valid_to ?? "");
        resolve(Number.isNaN(date) ? undefined : date);
      });
      socket.once("close", () => resolve(undefined));
    })
  );
}

export function expiryFinding(until: number, now: number): Finding {
  const date = new Date(until).toISOString().slice(0, 10);
  const days = Math.floor((until - now) / DAY);
  if (until <= now) {
    return {
      check: "tls",
      status: "problem",
      message: `The certificate expired on ${date}`,
      remedy: RENEW,
    };
  }
  const message = `The certificate is valid until ${date}`;
  if (days >= SOON) return { check: "tls", status: "ok", message };
  return { check: "tls", status: "warning", message: `${message}, which is soon`, remedy: RENEW };
}

/**
 * The finding for a request that failed because of TLS. Undefined if it failed for another reason.
 */
export function trustFinding(reason: string): Finding | undefined {
  if (!/certificate|_CERT_|\btls\b|\bssl\b|handshake/i.test(reason)) return undefined;
  return {
    check: "tls",
    status: "problem",
    message: `The certificate is not trusted: ${reason}`,
    remedy:
      "serve a certificate for this host name, with its whole chain, from a known authority; for a private authority, use --ca-file",
  };
}
