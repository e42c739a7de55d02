/** The client scenarios of the official conformance suite about authorization. */
import type { ScenarioSet } from "./scenarios.ts";

/** Scenarios of extensions, which `parley call` does not support, and why. */
export const EXTENSIONS: { readonly [scenario: string]: string } = {
  "auth/client-credentials-jwt": "a grant for programs without a person; parley call is for people",
  "auth/client-credentials-basic":
    "a grant for programs without a person; parley call is for people",
  "auth/enterprise-managed-authorization": "needs an identity provider of a company",
  "auth/wif-jwt-bearer": "a grant for workloads, which have an identity of their platform",
  "auth/dpop": "Parley's server checks proofs of possession; its client does not make them",
  "auth/dpop-nonce": "Parley's server checks proofs of possession; its client does not make them",
};

const BOTH = [
  "auth/metadata-default",
  "auth/metadata-var1",
  "auth/metadata-var2",
  "auth/metadata-var3",
  "auth/basic-cimd",
  "auth/scope-from-www-authenticate",
  "auth/scope-from-scopes-supported",
  "auth/scope-omitted-when-undefined",
  "auth/scope-step-up",
  "auth/scope-retry-limit",
  "auth/token-endpoint-auth-basic",
  "auth/token-endpoint-auth-post",
  "auth/token-endpoint-auth-none",
  "auth/pre-registration",
];

export const clientSets: readonly ScenarioSet[] = [
  { name: "2025-11-25", args: ["--requirements", "2025-11-25"], scenarios: BOTH },
  {
    name: "2026-07-28",
    args: ["--requirements", "2026-07-28"],
    scenarios: [
      ...BOTH,
      "auth/resource-mismatch",
      "auth/offline-access-scope",
      "auth/offline-access-not-supported",
      "auth/authorization-server-migration",
      "auth/iss-supported",
      "auth/iss-not-advertised",
      "auth/iss-supported-missing",
      "auth/iss-wrong-issuer",
      "auth/iss-unexpected",
      "auth/iss-normalized",
      "auth/metadata-issuer-mismatch",
    ],
  },
  // Servers of this revision have no metadata of their own, and some have none at all.
  {
    name: "2025-03-26",
    args: ["--suite", "all", "--spec-version", "2025-03-26"],
    scenarios: [
      "auth/2025-03-26-oauth-metadata-backcompat",
      "auth/2025-03-26-oauth-endpoint-fallback",
    ],
  },
];
