/**
 * The server card (SEP-2127) and the AI catalog that refers to it. Both are public documents, from
 * which clients learn the name and address of the server before they connect.
 */
import { nodeCrypto } from "../lib/sealer.ts";
import { LEGACY_VERSIONS, MODERN_VERSION } from "../wire/versions.ts";
import type { ParleyOptions, ServerInfo } from "./options.ts";

const CARD_TYPE = "application/mcp-server-card+json";
const CATALOG_TYPE = "application/ai-catalog+json";
const CATALOG_PATH = "/.well-known/ai-catalog.json";
const SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";

/** The headers that the specification requires. Pages of any origin may read the documents. */
const HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET",
  "access-control-allow-headers": "Content-Type, If-None-Match",
  "access-control-expose-headers": "ETag",
};

type CardOptions = Pick<ParleyOptions, "publicUrl" | "legacySse">;

export class ServerCard {
  readonly #options: CardOptions;
  readonly #info: ServerInfo;
  readonly #path: string;

  constructor(options: CardOptions, info: ServerInfo, path: string) {
    this.#options = options;
    this.#info = info;
    this.#path = path;
  }

  /** The response to a request for one of the documents. Undefined for other paths. */
  serve(request: Request, path: string): Response | undefined {
    const isCatalog = path === CATALOG_PATH;
    if (!isCatalog && path !== `${this.#path}/server-card`) return undefined;
    if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: HEADERS });
    if (request.method !== "GET" && request.method !== "HEAD") {
      return new Response(null, { status: 405, headers: { ...HEADERS, allow: "GET, HEAD" } });
    }
    const base = this.#baseOf(request);
    const text = JSON.stringify(isCatalog ? this.#catalog(base) : this.#card(base));
    const etag = `"${nodeCrypto().createHash("sha256").update(text).digest("base64url")}"`;
    const headers = {
      ...HEADERS,
      "content-type": isCatalog ? CATALOG_TYPE : CARD_TYPE,
      "cache-control": "public, max-age=3600",
      etag,
      // Without a public URL, the addresses in the documents are those of the request.
      vary: "Host",
    };
    const known = request.headers.get("if-none-match")?.split(",").map((tag) => tag.trim()) ?? [];
    if (known.some((tag) => tag === "*" || tag.replace(/^W\//, "") === etag)) {
      return new Response(null, { status: 304, headers });
    }
    return new Response(request.method === "HEAD" ? null : text, { headers });
  }

  #baseOf(request: Request): URL {
    const { publicUrl } = this.#options;
    const url = typeof publicUrl === "function" ? publicUrl() : publicUrl;
    if (url !== undefined) return new URL(url);
    const { protocol, host } = new URL(request.url);
    return new URL(`${protocol}//${request.headers.get("host") ?? host}`);
  }

  #card(base: URL): object {
    const { name, version, title, description, websiteUrl, icons } = this.#info;
    const remotes = [
      {
        type: "streamable-http",
        url: address(base, this.#path),
        supportedProtocolVersions: [MODERN_VERSION, ...LEGACY_VERSIONS.slice(0, -1)],
      },
      ...(this.#options.legacySse
        ? [{
          type: "sse",
          url: address(base, "/sse"),
          supportedProtocolVersions: LEGACY_VERSIONS.slice(-1),
        }]
        : []),
    ];
    return {
      $schema: SCHEMA,
      name: cardName(name, base),
      version,
      description: cut(description ?? title ?? name),
      ...(title !== undefined && { title: cut(title) }),
      ...(websiteUrl !== undefined && { websiteUrl }),
      ...(icons && { icons }),
      remotes,
    };
  }

  #catalog(base: URL): object {
    const [, name] = cardName(this.#info.name, base).split("/");
    return {
      specVersion: "1.0",
      entries: [{
        identifier: `urn:air:${base.hostname}:mcp:${name}`,
        type: CARD_TYPE,
        url: address(base, `${this.#path}/server-card`),
      }],
    };
  }
}

/** A URL below the base, which may have a path of its own. */
function address(base: URL, path: string): string {
  return `${base.origin}${base.pathname.replace(/\/$/, "")}${path}`;
}

const CARD_NAME = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;

/** The name in reverse-DNS form, such as `com.example/weather` for `weather` at example.com. */
function cardName(name: string, { hostname }: URL): string {
  if (CARD_NAME.test(name)) return name;
  const isAddress = /^[\d.]+$|:/.test(hostname);
  const namespace = isAddress ? "localhost" : hostname.split(".").reverse().join(".");
  return `${namespace}/${name.replace(/[^a-zA-Z0-9._-]+/g, "-") || "server"}`;
}

/** The specification limits texts to 100 characters. */
function cut(text: string): string {
  return text.length <= 100 ? text : `${text.slice(0, 99)}…`;
}
