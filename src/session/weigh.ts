/** Roughly how many bytes a value takes, counted without building its JSON. */
export function weigh(value: unknown): number {
  switch (typeof value) {
    case "string":
      return 24 + value.length;
    case "object": {
      if (value === null) return 8;
      let bytes = 32;
      if (Array.isArray(value)) { for (const item of value) bytes += weigh(item); }
      else for (const key in value) bytes += 16 + weigh((value as Record<string, unknown>)[key]);
      return bytes;
    }
    default:
      return 8;
  }
}
