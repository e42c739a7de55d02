/** Roughly how many bytes a value takes, counted without building its JSON. */
export function weigh(value: unknown): number {
  switch (typeof value) {
    case "string":
      return 24 + value.length;
    case "object": {
      if (value === null) return 8;
      let bytes = 32;
      if (Array.isArray(value)) { for (const item of value) bytes += weigh(item); }
      else {
        for (const key in value) {
          const item = (value as Record<string, unknown>)[key];
          bytes += 16 + key.length + (key === "requestedSchema" ? weighForm(item) : weigh(item));
        }
      }
      return bytes;
    }
    default:
      return 8;
  }
}

const forms = new WeakMap<object, number>();

/** A form is asked again and again, and always weighs the same. */
function weighForm(schema: unknown): number {
  if (typeof schema !== "object" || schema === null) return weigh(schema);
  let bytes = forms.get(schema);
  if (bytes === undefined) forms.set(schema, bytes = weigh(schema));
  return bytes;
}
