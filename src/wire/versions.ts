/** The MCP revisions that this server supports. */

export const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
export type LegacyVersion = typeof LEGACY_VERSIONS[number];

export const MODERN_VERSION = "2026-07-28";

export function isLegacyVersion(version: unknown): version is LegacyVersion {
  return LEGACY_VERSIONS.includes(version as LegacyVersion);
}

/** True if a revision is `first` or later. Revisions are dates, so they are compared as text. */
export function since(version: LegacyVersion, first: LegacyVersion): boolean {
  return version >= first;
}
