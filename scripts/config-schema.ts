/**
 * Generates the JSON Schema of `parley.config.json` from the settings in the source. Editors use it
 * for completion and for checking. The package contains it.
 */
import { limitNames } from "../src/cli/commands/identity.ts";
import { CONFIG_KEYS, SettingOption } from "../src/cli/server-flags.ts";
import { readText } from "../tests/harness/files.ts";

/** The file, in the project and in the package. */
export const SCHEMA_FILE = "parley.config.schema.json";

interface Schema {
  readonly [key: string]: unknown;
}

export function configSchema(): string {
  const comments = commentsIn("src/cli/config.ts");
  const properties: { [name: string]: Schema } = {
    $schema: { type: "string", description: "The address of this schema, for editors." },
  };
  for (const key of ["tools", ...CONFIG_KEYS]) {
    const schema = { ...typeOf(key), description: comments.get(key) };
    const [group, name] = key.split(".");
    if (name === undefined) properties[key] = schema;
    else {
      const before = properties[group!]?.properties as Schema | undefined;
      const description = comments.get(group!);
      properties[group!] = { ...objectOf({ ...before, [name]: schema }), description };
    }
  }
  return JSON.stringify(
    {
      $schema: "http://json-schema.org/draft-07/schema#",
      title: "The settings of a Parley server",
      ...objectOf(properties),
    },
    null,
    2,
  );
}

function objectOf(properties: Schema): Schema {
  return { type: "object", additionalProperties: false, properties };
}

function typeOf(key: string): Schema {
  const texts = { type: "array", items: { type: "string" } };
  if (key === "tools") return texts;
  const { kind, argChoices } = new SettingOption(
    key as ConstructorParameters<typeof SettingOption>[0],
  );
  switch (kind) {
    case "boolean":
      return { type: "boolean" };
    case "number":
      return key === "port"
        ? { type: "integer", minimum: 0, maximum: 65_535 }
        : { type: "number", minimum: 0 };
    case "numbers":
      return limits();
    case "list":
      return key === "doors" ? { ...texts, items: { enum: DOORS } } : texts;
    default:
      return argChoices ? { enum: [...argChoices] } : { type: "string" };
  }
}

const DOORS = ["form", "app", "page", "model"];

function limits(): Schema {
  const comments = new Map([
    ...commentsIn("src/registry/options.ts"),
    ...commentsIn("src/server/options.ts"),
  ]);
  return objectOf(Object.fromEntries(
    limitNames().map((
      name,
    ) => [name, { type: "integer", minimum: 1, description: comments.get(name) }]),
  ));
}

/** The comments of the properties in a file. Those in a group are named like `auth.issuers`. */
function commentsIn(file: string): Map<string, string> {
  const found = new Map<string, string>();
  let group = "";
  const properties = /^( +)\/\*\*([^]*?)\*\/\s+readonly (\w+)\??: ?(\{?)/gm;
  for (const [, indent, comment, name, brace] of readText(file).matchAll(properties)) {
    const isNested = indent!.length > 2;
    if (!isNested) group = brace === "" ? "" : name!;
    const text = comment!.replaceAll(/^ *\* ?/gm, "").replaceAll(/\s+/g, " ").trim();
    found.set(isNested && group !== "" ? `${group}.${name}` : name!, text);
  }
  return found;
}
