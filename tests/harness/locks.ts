/** Reads the two lock files into one format: `name@version` to integrity. */

export type Locked = Map<string, string>;

/** Deno appends the peers that a package was resolved with; they have their own entries. */
export function readDenoLock(text: string): Locked {
  const lock: { npm: Record<string, { integrity: string }> } = JSON.parse(text);
  return sorted(
    Object.entries(lock.npm).map(([key, { integrity }]) => {
      const id = /^@?[^@]+@[^_]+/.exec(key)?.[0];
      if (id === undefined) throw new Error(`Cannot read "${key}" in deno.lock`);
      return [id, integrity];
    }),
  );
}

/** Bun lists a package once for each place where it is installed. */
export function readBunLock(text: string): Locked {
  const lock: { packages: Record<string, [id: string, ...rest: unknown[]]> } = JSON.parse(
    text.replace(/,(\s*[}\]])/g, "$1"), // Bun leaves trailing commas
  );
  return sorted(
    Object.values(lock.packages).map(([id, ...rest]) => [id, String(rest.at(-1))]),
  );
}

function sorted(entries: [string, string][]): Locked {
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
