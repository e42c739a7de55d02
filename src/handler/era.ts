/** Which era a POST belongs to. */
import { isObject } from "../protocol/json-rpc.ts";
import { claimsModern } from "../protocol/modern/meta.ts";
import { isLegacyVersion } from "../protocol/versions.ts";

/**
 * A request that carries the modern metadata is modern, whatever else it says;
 * so is one whose header names a version that no legacy client knows.
 */
export function isModern(headers: Headers, body: unknown): boolean {
  if (isObject(body) && claimsModern(body.params)) return true;
  const version = headers.get("mcp-protocol-version");
  return version !== null && !isLegacyVersion(version);
}
