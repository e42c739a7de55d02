/** Trust in certificate authorities that the system does not know, for single requests. */
import { type Operation, resource } from "effection";
import { rootCertificates } from "node:tls";
import process from "node:process";

/** Options of `fetch` beyond the standard. Each runtime has its own. */
export type Trust = { readonly [option: string]: unknown };

/**
 * The options with which `fetch` also trusts certificates of these authorities, which are in PEM
 * form. Undefined if this runtime cannot do that for single requests.
 */
export function useTrust(authorities: string): Operation<Trust | undefined> {
  return resource(function* (provide) {
    if (process.versions["bun"] !== undefined) {
      // Bun trusts only the given authorities, so add those that it trusts by default.
      return yield* provide({ tls: { ca: [...rootCertificates, authorities] } });
    }
    if (typeof Deno === "undefined") return yield* provide(undefined);
    const client = Deno.createHttpClient({ caCerts: [authorities] });
    try {
      yield* provide({ client });
    } finally {
      client.close();
    }
  });
}
