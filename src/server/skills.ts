/**
 * The skills extension (SEP-2640): lists of skills, and the files of skills as resources. In the list
 * of resources, each skill has one entry, for its `SKILL.md`.
 */
import type { Operation } from "effection";
import { ProtocolError } from "../model/errors.ts";
import { INVALID_PARAMS } from "../model/rpc-codes.ts";
import type { JsonObject } from "../model/content.ts";
import { textOf } from "../tool/mime-type.ts";
import { createMcpResource } from "../tool/resource.ts";
import type { FinalizedMcpSkill, McpSkillFile } from "../tool/skill.ts";
import type { FinalizedMcpResource, ListedResource } from "../tool/types.ts";
import type { CheckedCaller } from "./access.ts";
import type { Catalog } from "./catalog.ts";
import type { ServerCore } from "./core.ts";
import { pageOf } from "./page-of.ts";

export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

const DIRECTORY_TYPE = "inode/directory";

/** The extension as servers with skills declare it. */
export function skillCapabilities(): JsonObject {
  return { [SKILLS_EXTENSION]: { directoryRead: true } };
}

/** True for the methods of the extension. A server without skills does not have them. */
export function isOfSkills(method: string): boolean {
  return method === "skills/list" || method === "skills/get" ||
    method === "resources/directory/read";
}

export function* listSkills(
  core: ServerCore,
  params: JsonObject,
  caller: CheckedCaller,
): Operation<JsonObject> {
  const { page, nextCursor } = pageOf(core, params, skillsFor(core, caller), ({ uri }) => uri);
  return { skills: page.map(listedSkill), ...nextCursor };
}

export function* getSkill(
  core: ServerCore,
  { uri }: JsonObject,
  caller: CheckedCaller,
): Operation<JsonObject> {
  const skill = skillOf(core, uri, caller);
  if (!skill || skill.uri !== uri) {
    throw new ProtocolError(
      INVALID_PARAMS,
      `Cannot find a skill at ${
        JSON.stringify(uri)
      }: there is none; list the skills to see which exist`,
    );
  }
  return { skill: listedSkill(skill) };
}

/** Lists the files and folders that are directly in a folder of a skill. */
export function* readDirectory(
  core: ServerCore,
  params: JsonObject,
  caller: CheckedCaller,
): Operation<JsonObject> {
  const { uri } = params;
  const folder = asFolder(uri);
  const files = skillOf(core, uri, caller)?.files.filter((file) => file.uri.startsWith(folder));
  if (!files?.length) {
    throw new ProtocolError(
      INVALID_PARAMS,
      `Cannot list ${
        JSON.stringify(uri)
      }: it is not a folder of a skill; list the skills to see their files`,
    );
  }
  const children = new Map<string, ListedResource>();
  for (const file of files) {
    const [name = "", ...below] = file.uri.slice(folder.length).split("/");
    if (below.length === 0) children.set(file.uri, listedFile(file));
    else {
      const uri = folder + name;
      children.set(uri, { uri, name: decodeURIComponent(name), mimeType: DIRECTORY_TYPE });
    }
  }
  const { page, nextCursor } = pageOf(core, params, [...children.values()], ({ uri }) => uri);
  return { resources: page, ...nextCursor };
}

/** The entries of skills in the list of resources. */
export function skillResources(core: ServerCore, caller: CheckedCaller): ListedResource[] {
  return skillsFor(core, caller).map(({ uri, name, description, files }) => {
    const { mimeType, size } = files[0]!;
    return { uri, name, description, mimeType, size };
  });
}

const resources = new WeakMap<McpSkillFile, FinalizedMcpResource>();

/** The file of a skill at a URI, as a resource. */
export function skillFileAt(catalog: Catalog, uri: string): FinalizedMcpResource | undefined {
  for (const skill of catalog.skills.values()) {
    if (!uri.startsWith(folderOf(skill))) continue;
    const file = skill.files.find((file) => file.uri === uri);
    if (!file) continue;
    let resource = resources.get(file);
    if (!resource) resources.set(file, resource = resourceOf(skill, file));
    return resource;
  }
  return undefined;
}

function resourceOf({ scopes }: FinalizedMcpSkill, file: McpSkillFile): FinalizedMcpResource {
  const { uri, mimeType, bytes } = file;
  const resource = createMcpResource(uri).uri(uri).mimeType(mimeType).read(function* () {
    return textOf(bytes) ?? bytes;
  });
  return scopes ? { ...resource, scopes } : resource;
}

function skillsFor({ catalog, access }: ServerCore, { who }: CheckedCaller): FinalizedMcpSkill[] {
  return [...catalog.skills.values()].filter((skill) => access.shows(skill, who));
}

function listedSkill({ uri, frontmatter, files }: FinalizedMcpSkill): JsonObject {
  const resources = files.map(({ uri, digest, size }) => ({ uri, digest, size }));
  return { uri, frontmatter, resources };
}

function listedFile({ uri, path, mimeType, size }: McpSkillFile): ListedResource {
  return { uri, name: path.slice(path.lastIndexOf("/") + 1), mimeType, size };
}

/** The skill that contains a file or folder. Undefined if there is none, or it is hidden. */
export function skillOf(
  core: ServerCore,
  uri: unknown,
  caller: CheckedCaller,
): FinalizedMcpSkill | undefined {
  return skillsFor(core, caller).find((skill) => asFolder(uri).startsWith(folderOf(skill)));
}

/** A URI with one slash at its end. */
function asFolder(uri: unknown): string {
  return typeof uri === "string" ? `${uri.replace(/\/$/, "")}/` : "";
}

/** The URI of a skill's folder, with a slash at its end. */
function folderOf({ uri }: FinalizedMcpSkill): string {
  return uri.slice(0, uri.lastIndexOf("/") + 1);
}
