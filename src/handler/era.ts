/** Which era a POST belongs to. */
import { isObject } from "../wire/json-rpc.ts";
import { claimsModern } from "../wire/modern/meta.ts";
import { isLegacyVersion } from "../wire/versions.ts";

/**
 * A request that carries the modern metadata is modern, whatever else it says;
 * so is one whose header names a version that no legacy client knows.
 */
export function isModern(headers: Headers, body: unknown): boolean {
  if (isObject(body) && claimsModern(body.params)) return true;
  const version = headers.get("mcp-protocol-version");
  return version !== null && !isLegacyVersion(version);
}
