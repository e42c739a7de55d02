/** The client scenarios of the official conformance suite that must pass, by revision. */
import type { ScenarioSet } from "./scenarios.ts";

/** Scenarios of extensions that `parley call` does not support, and why. */
export const EXTENSIONS: { readonly [scenario: string]: string } = {
  "auth/client-credentials-jwt": "a grant for programs without a person; parley call is for people",
  "auth/client-credentials-basic":
    "a grant for programs without a person; parley call is for people",
  "auth/enterprise-managed-authorization": "needs an identity provider of a company",
  "auth/wif-jwt-bearer": "a grant for workloads, which have an identity of their platform",
  "sep-2640-client-no-prefetch": "skills: parley call calls tools",
  "sep-2640-client-verify-digest": "skills: parley call calls tools",
  "sep-2640-client-verify-size": "skills: parley call calls tools",
  "sep-2640-client-verify-frontmatter": "skills: parley call calls tools",
};

const BOTH = [
  "tools_call",
  "json-schema-2020-12-preservation",
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
  "auth/dpop",
  "auth/dpop-nonce",
];

export const clientSets: readonly ScenarioSet[] = [
  {
    name: "2025-11-25",
    args: ["--requirements", "2025-11-25"],
    scenarios: ["initialize", "elicitation-sep1034-client-defaults", "sse-retry", ...BOTH],
  },
  {
    name: "2026-07-28",
    args: ["--requirements", "2026-07-28"],
    scenarios: [
      "request-metadata",
      "sep-2322-client-request-state",
      "http-standard-headers",
      "http-custom-headers",
      "http-invalid-tool-headers",
      "json-schema-ref-no-deref",
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
