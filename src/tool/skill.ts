/**
 * `createMcpSkill`: the builder of skills. A skill is a folder of instructions for an assistant, with
 * `SKILL.md` as its main file. Clients list skills and read their files (MCP extension SEP-2640).
 */
import { Buffer } from "node:buffer";
import { isObject } from "../lib/json.ts";
import { nodeCrypto } from "../lib/sealer.ts";
import type { JsonObject } from "../model/content.ts";
import { DefinitionError } from "../model/errors.ts";
import { checkedScopes } from "./check.ts";
import { mimeTypeOf } from "./mime-type.ts";
import type { RequiredScopes, ScopeList } from "./settings.ts";
import type { Definition } from "./types.ts";

/** The optional front matter of a skill, as the Agent Skills format defines it. */
export interface McpSkillFrontMatter {
  /** The license of the skill, by name or as the name of a file in it. */
  readonly license?: string;
  /**
   * The requirements of the skill, such as a product, system packages or network access. At most
   * 500 characters.
   */
  readonly compatibility?: string;
  /** The tools that an assistant may use without asking while it follows the skill. */
  readonly "allowed-tools"?: string;
  /** Further properties. */
  readonly metadata?: { readonly [key: string]: string };
}

/** One file of a skill. */
export interface McpSkillFile {
  /** The path in the skill's folder, such as `references/menu.md`. */
  readonly path: string;
  readonly uri: string;
  readonly mimeType: string;
  /** The size in bytes. */
  readonly size: number;
  /** The SHA-256 hash of the bytes, as `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  readonly bytes: Uint8Array;
}

/** A finished skill. */
export interface FinalizedMcpSkill {
  readonly kind: "skill";
  /** The name. It is unique among the skills of a server. */
  readonly name: string;
  readonly description: string;
  /** The URI of `SKILL.md`. */
  readonly uri: string;
  /** The front matter of `SKILL.md`. */
  readonly frontmatter: JsonObject;
  /** All files, `SKILL.md` first. */
  readonly files: readonly McpSkillFile[];
  /** The scopes that a caller needs. Undefined if it needs none. */
  readonly scopes?: RequiredScopes;
}

/** Everything that a server can serve. */
export type Served = Definition | FinalizedMcpSkill;

/** Builds a skill. Each method returns a new builder. */
export interface McpSkillBuilder {
  /**
   * Sets the description: what the skill does, and when to use it. Assistants choose skills by this
   * text.
   */
  description(text: string): McpSkillBuilder;
  frontmatter(fields: McpSkillFrontMatter): McpSkillBuilder;
  /** Adds a file. Instructions refer to it by its path, such as `references/menu.md`. */
  file(path: string, content: string | Uint8Array): McpSkillBuilder;
  /**
   * Sets the scopes that a caller needs. Over HTTP, other callers cannot read the skill, or do not
   * see it at all (`{ hidden: true }`). Calls over stdio need no scopes.
   */
  scopes(...scopes: ScopeList): McpSkillBuilder;
  /** Finishes the skill with the text of `SKILL.md`, in Markdown, without front matter. */
  instructions(markdown: string): FinalizedMcpSkill;
}

/** The main file of a skill. */
export const SKILL_FILE = "SKILL.md";

/** The limits of the extension for one skill. */
export const MAX_SKILL_FILES = 512;
export const MAX_SKILL_SIZE = 16 * 1024 * 1024;

interface RawSkill {
  readonly name: string;
  readonly description?: string;
  readonly frontmatter?: McpSkillFrontMatter;
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly scopes?: ScopeList;
}

/**
 * Starts the definition of a skill. The name consists of lowercase letters, digits and hyphens.
 *
 * @example
 * ```ts
 * import { createMcpSkill } from "parley-mcp";
 *
 * export const orderCakes = createMcpSkill("order-cakes")
 *   .description("How to order a cake. Use it when someone wants a cake.")
 *   .file("references/sizes.md", "Small serves 6, large serves 12.")
 *   .instructions("Ask for the number of guests. Then choose a size from references/sizes.md.");
 * ```
 */
export function createMcpSkill(name: string): McpSkillBuilder {
  return builder({ name, files: new Map() });
}

function builder(raw: RawSkill): McpSkillBuilder {
  return {
    description: (description) => builder({ ...raw, description }),
    frontmatter: (frontmatter) => builder({ ...raw, frontmatter }),
    file(path, content) {
      const subject = `skill "${raw.name}"`;
      if (raw.files.has(path) || path === SKILL_FILE) {
        throw new DefinitionError(subject, `the file "${path}"`, "exists twice", "remove one");
      }
      return builder({ ...raw, files: new Map([...raw.files, [path, bytesOf(content)]]) });
    },
    scopes: (...scopes) => builder({ ...raw, scopes }),
    instructions(markdown) {
      const { name, description } = raw;
      const frontmatter = { name, description, ...raw.frontmatter } as JsonObject;
      const text = `---\n${yamlOf(frontmatter)}---\n\n${markdown.trim()}\n`;
      const files = new Map([[SKILL_FILE, bytesOf(text)], ...raw.files]);
      return checkedSkill({ path: String(name), frontmatter, files, scopes: raw.scopes });
    },
  };
}

function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? new TextEncoder().encode(content) : content;
}

/** Writes the fields as YAML, one per line. Each value is JSON, which is valid YAML. */
function yamlOf(fields: JsonObject): string {
  return Object.entries(fields).filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`).join("");
}

/** A skill as it was written or read from a folder. */
export interface SkillSource {
  /** The path below the folder of all skills. Its last part is the name of the skill. */
  readonly path: string;
  readonly frontmatter: JsonObject;
  /** The bytes of each file by its path. Contains `SKILL.md`. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly scopes?: ScopeList | undefined;
}

/** Checks a skill, and computes the URI, size and digest of each file. */
export function checkedSkill({ path, frontmatter, files, scopes }: SkillSource): FinalizedMcpSkill {
  const subject = `skill "${path}"`;
  const folders = path.split("/");
  for (const folder of folders) checkName(subject, folder);
  const { name, description } = checkedFrontMatter(subject, frontmatter);
  if (name !== folders.at(-1)) {
    throw new DefinitionError(
      subject,
      `its name "${name}"`,
      `differs from the name of its folder, "${folders.at(-1)}"`,
      "rename one of the two",
    );
  }
  if (files.size > MAX_SKILL_FILES) {
    throw new DefinitionError(
      subject,
      "its folder",
      `has ${files.size} files, and clients accept ${MAX_SKILL_FILES}`,
      "remove files that assistants do not need",
    );
  }
  const size = [...files.values()].reduce((total, bytes) => total + bytes.length, 0);
  if (size > MAX_SKILL_SIZE) {
    throw new DefinitionError(
      subject,
      "its folder",
      `has ${size} bytes, and clients accept ${MAX_SKILL_SIZE}`,
      "remove large files",
    );
  }
  const base = `skill://${path}/`;
  const names = [SKILL_FILE, ...[...files.keys()].filter((file) => file !== SKILL_FILE)];
  return {
    kind: "skill",
    name,
    description,
    uri: base + SKILL_FILE,
    frontmatter,
    files: names.map((file) => {
      checkPath(subject, file);
      return skillFile(base, file, files.get(file)!);
    }),
    ...(scopes && { scopes: checkedScopes(subject, scopes) }),
  };
}

function skillFile(base: string, path: string, given: Uint8Array): McpSkillFile {
  // Copy the bytes, because the author may modify them later.
  const bytes = Buffer.from(given);
  let digest: string | undefined;
  return {
    path,
    uri: base + path.split("/").map(encodeURIComponent).join("/"),
    mimeType: mimeTypeOf(path, bytes),
    size: bytes.length,
    // Computed on first access, because loading `node:crypto` takes several milliseconds.
    get digest() {
      return digest ??= `sha256:${nodeCrypto().createHash("sha256").update(bytes).digest("hex")}`;
    },
    bytes,
  };
}

/** The names that the Agent Skills format allows. */
const NAME = /^(?!.*--)[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;

function checkName(subject: string, name: string): void {
  if (NAME.test(name)) return;
  throw new DefinitionError(
    subject,
    `the name "${name}"`,
    "is not valid",
    "use 1 to 64 lowercase letters, digits and single hyphens",
  );
}

function checkPath(subject: string, path: string): void {
  const parts = path.split("/");
  if (parts.every((part) => part !== "" && part !== "." && part !== ".." && !/[\\\0]/.test(part))) {
    return;
  }
  throw new DefinitionError(
    subject,
    `the path "${path}"`,
    "is not a path below its folder",
    'use names separated by "/", as in references/menu.md',
  );
}

const TEXT_FIELDS = ["license", "compatibility", "allowed-tools"];
const RESERVED_METADATA = "io.modelcontextprotocol/";

function checkedFrontMatter(
  subject: string,
  frontmatter: JsonObject,
): { readonly name: string; readonly description: string } {
  const refuse = (field: string, problem: string, wayOut: string) => {
    throw new DefinitionError(subject, `"${field}" in its front matter`, problem, wayOut);
  };
  const { name, description, compatibility, metadata } = frontmatter;
  if (typeof name !== "string") throw refuse("name", "is missing", "add it");
  if (typeof description !== "string" || description.trim() === "") {
    throw refuse("description", "is missing", "say what the skill does and when to use it");
  }
  if (description.length > 1024) {
    throw refuse("description", "is longer than 1024 characters", "shorten it");
  }
  for (const field of TEXT_FIELDS) {
    const value = frontmatter[field];
    if (value !== undefined && typeof value !== "string") refuse(field, "is not text", "quote it");
  }
  if (typeof compatibility === "string" && compatibility.length > 500) {
    refuse("compatibility", "is longer than 500 characters", "shorten it");
  }
  if (metadata !== undefined && !isObject(metadata)) {
    refuse("metadata", "is not a map", "write one key and value on each line");
  }
  for (const [key, value] of Object.entries(metadata ?? {})) {
    if (typeof value !== "string") refuse(`metadata.${key}`, "is not text", "quote it");
    if (key.startsWith(RESERVED_METADATA)) {
      refuse(`metadata.${key}`, "has a reserved name", "use a prefix of your own");
    }
  }
  return { name, description };
}
