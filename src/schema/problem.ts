/**
 * The error that `schema/` throws. It contains the field but not the tool. Code that knows the tool
 * converts it to a `DefinitionError`.
 */

/** A schema cannot be used for its purpose. */
export class SchemaProblem extends Error {
  override readonly name = "SchemaProblem";
  /** `field` is a path such as `a.b[]`, or the empty string for the whole schema. */
  constructor(
    readonly field: string,
    readonly problem: string,
    readonly wayOut: string,
    options?: ErrorOptions,
  ) {
    super(
      `Cannot use schema: ${field === "" ? "it" : `"${field}"`} ${problem}; ${wayOut}`,
      options,
    );
  }
}

/** Converts a path in a JSON Schema to the name of a field: `properties/a/items` becomes `a[]`. */
export function fieldAt(schemaPath: readonly (string | number)[]): string {
  let field = "";
  for (let i = 0; i < schemaPath.length; i++) {
    if (schemaPath[i] === "properties" && i + 1 < schemaPath.length) {
      field += `${field === "" ? "" : "."}${schemaPath[++i]}`;
    } else if (schemaPath[i] === "items") {
      field += "[]";
    }
  }
  return field;
}

const WAYS_OUT: Record<string, string> = {
  date: "use a string such as z.iso.datetime(), and convert it to a Date in the tool",
  bigint: "use z.int(), or a string of digits",
  map: "use z.record()",
  set: "use z.array()",
  transform: "pipe it into a schema of its output, as in .transform(…).pipe(z.string())",
  file: "use a base64 string",
  promise: "use the schema of the resolved value",
  undefined: "leave the field out, or make another one optional",
  void: "leave the field out, or make another one optional",
};

/** Returns the error for a type that JSON does not have. */
export function notJson(field: string, type: string, cause?: unknown): SchemaProblem {
  const wayOut = WAYS_OUT[type] ?? "use a type that JSON has";
  return new SchemaProblem(field, `is a ${type}, which JSON Schema cannot express`, wayOut, {
    cause,
  });
}
