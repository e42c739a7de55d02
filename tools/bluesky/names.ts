/** Parses handles, DIDs and services as people write them. */
import { ToolError } from "parley-mcp";
import { isPublicName } from "./net/public-address.ts";

const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const HANDLE = new RegExp(`^(?:${LABEL}\\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$`);
const DID = /^did:[a-z]+:[a-zA-Z0-9._:%-]{1,2000}[a-zA-Z0-9._-]$/;
const PROFILE = /^https?:\/\/(?:www\.)?bsky\.app\/profile\/([^/?#]+)/i;

/** Normalises a handle or DID, which may be written with @, in upper case or as a link. */
export function toActor(text: string): string {
  const bare = text.replace(/[\p{Cf}\p{Cc}\s]+/gu, "");
  const name = (PROFILE.exec(bare)?.[1] ?? bare).replace(/^@/, "");
  if (name.startsWith("did:")) {
    if (DID.test(name)) return name;
    throw new ToolError(
      `Cannot use ${
        shown(text)
      } as an account: it is not a DID; DIDs look like did:plc:ewvi7nxzyoun6zhxrhs64oiz`,
    );
  }
  const handle = name.toLowerCase();
  if (HANDLE.test(handle) && handle.length <= 253) return handle;
  throw new ToolError(`Cannot use ${shown(text)} as an account: ${whyNot(handle)}`);
}

function whyNot(handle: string): string {
  if (handle === "") return "it is empty; use a handle such as name.bsky.social";
  if (handle.includes("@")) {
    return "it looks like an e-mail address; use the handle, such as name.bsky.social";
  }
  if (/^[a-z0-9-]+$/.test(handle)) {
    return `it is not a full handle; did you mean ${handle}.bsky.social?`;
  }
  return "it is not a handle; handles look like name.bsky.social, with letters, digits, dots and dashes";
}

/** Returns the origin of a service. Throws if the address is not public, unless it may be local. */
export function toService(text: string, local: boolean): string {
  const url = URL.parse(text.includes("://") ? text : `https://${text}`);
  if (!url || url.username || url.password) {
    throw new ToolError(
      `Cannot use ${
        shown(text)
      } as a service: it is not a URL; use one such as https://bsky.social`,
    );
  }
  const here = isHere(url);
  if (here && local) return url.origin;
  if (here || /^[\d.]+$|^\[/.test(url.hostname) || !isPublicName(url.hostname)) {
    throw new ToolError(
      `Cannot use ${
        shown(text)
      } as a service: it is not a public address; use one such as https://bsky.social`,
    );
  }
  if (url.protocol === "https:") return url.origin;
  throw new ToolError(
    `Cannot use ${shown(text)} as a service: it is not encrypted; use its https address`,
  );
}

/** True if the URL is on this machine. Only such URLs may use http. */
export function isHere(url: URL): boolean {
  return /^https?:$/.test(url.protocol) && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
}

function shown(text: string): string {
  const line = text.replace(/[\p{C}\s]+/gu, " ").trim();
  return JSON.stringify(line.length > 80 ? `${line.slice(0, 80)}…` : line);
}
