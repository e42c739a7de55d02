/**
 * The rules of the source tree that its text can show. Each rule takes sources as data
 * and returns complaints; no complaints means that the rule holds.
 */
import { posix } from "node:path";
import { importsOf, tokens, usesGlobal } from "./tokens.ts";

export interface Source {
  /** Relative to the repository. */
  path: string;
  text: string;
}

/** What a folder of `src/` is for, and which others it may import, types included. */
export interface Folder {
  readonly purpose: string;
  /** Folders, or single files of a folder as `folder/file`. */
  readonly imports: readonly string[];
}

/**
 * The folders of `src/`. The order is partial: a folder imports only what its row names.
 * This is the only place where the rules stand; docs/architecture.md shows the same table.
 */
export const house: { readonly [folder: string]: Folder } = {
  model: {
    purpose: "shared data types: events, content blocks, errors, JSON-RPC codes, client info",
    imports: [],
  },
  lib: {
    purpose: "parts that know no MCP: clock and deadlines, strand, linked list, JSON, sealer",
    imports: [],
  },
  schema: {
    purpose: "Zod 4, Zod 3 and JSON Schema behind one interface; forms and their validation",
    imports: ["model", "lib"],
  },
  wire: {
    purpose: "pure text codecs: JSON-RPC, SSE, versions, and one folder for each era",
    imports: ["model", "lib"],
  },
  store: {
    purpose: "the store contract, the in-memory store and the SQLite store",
    imports: ["model", "lib"],
  },
  vault: {
    purpose: "credentials of the user: the operating system's keyring, or sealed files",
    imports: ["model"],
  },
  sampling: {
    purpose: "language-model providers",
    imports: ["model", "lib", "schema"],
  },
  tool: {
    purpose: "what authors write: builders, their types and checks, results, questions, sampling",
    imports: ["model", "lib", "schema"],
  },
  skills: {
    purpose: "skills from a folder: reading, checking and watching it",
    imports: ["model", "lib", "tool"],
  },
  ask: {
    purpose: "elicitation, sampling, exchanges, retries, budgets",
    imports: ["model", "lib", "schema", "sampling", "tool"],
  },
  run: {
    purpose: "runs a generator and gives it its context and branches",
    imports: ["model", "lib", "schema", "sampling", "tool", "ask"],
  },
  session: {
    purpose: "one run of one tool: phase, event log, questions, recorder, replay",
    imports: ["model", "lib", "store/types", "tool", "ask", "run"],
  },
  registry: {
    purpose:
      "all sessions of this process: admission, retention, durable takeover, background work",
    imports: ["model", "lib", "store", "sampling", "tool", "ask", "run", "session"],
  },
  ui: {
    purpose: "what people see in a browser: forms, pages, views; browser code and its built text",
    imports: ["model", "lib", "schema/wording", "wire", "client"],
  },
  server: {
    purpose: "what the server does with a message: catalogue, queries, pages, and both eras",
    imports: [
      "model",
      "lib",
      "schema",
      "wire",
      "store",
      "sampling",
      "tool",
      "ask",
      "run",
      "session",
      "registry",
      "ui",
    ],
  },
  auth: {
    purpose: "access control: access tokens, issuers and their keys, sign-in",
    imports: ["model", "lib", "wire", "server"],
  },
  console: {
    purpose: "the console of operators: its page, its JSON API, and who may use it",
    imports: ["model", "lib", "wire", "session", "registry", "ui", "server"],
  },
  transport: {
    purpose: "HTTP, the HTTP+SSE of 2024-11-05, stdio: each turns a reply into bytes",
    imports: ["model", "lib", "wire", "server"],
  },
  platform: {
    purpose: "Bun, Deno, Node and process stdio: bytes, and no MCP",
    imports: ["lib", "transport/types"],
  },
  client: {
    purpose: "a client for both eras, for the command line and for tests",
    imports: ["model", "lib", "schema", "wire", "vault"],
  },
  testing: {
    purpose: "the test kit for authors",
    imports: [
      "model",
      "lib",
      "schema",
      "wire",
      "store",
      "sampling",
      "tool",
      "ask",
      "run",
      "session",
      "registry",
      "server",
    ],
  },
  cli: {
    purpose: "the program: its commands and what they print",
    imports: [
      "model",
      "lib",
      "schema",
      "wire",
      "store",
      "vault",
      "sampling",
      "tool",
      "skills",
      "ask",
      "run",
      "session",
      "registry",
      "server",
      "auth",
      "console",
      "transport",
      "platform",
      "client",
      "testing",
      "parley",
    ],
  },
};

/** The only files directly in `src/`, and what each may import. */
const files: { readonly [file: string]: readonly string[] | "anything" } = {
  "src/parley.ts": Object.keys(house).filter((folder) => folder !== "cli"),
  "src/mod.ts": "anything",
  "src/main.ts": "anything",
  "src/shipped.ts": "anything",
  "src/shipped-skills.ts": ["model"],
};

export function importComplaints(sources: readonly Source[], packageName: string): string[] {
  return sources.flatMap(({ path, text }) => {
    const allowed = allowedIn(path);
    if (!allowed) return [`${path}: has no place in the table of folders`];
    return importsOf(text)
      .map((specifier) => target(path, specifier, packageName))
      .flatMap((imported) => {
        const reason = forbidden(path, allowed, imported);
        return reason ? [`${path} -> ${imported}: ${reason}`] : [];
      });
  });
}

function allowedIn(path: string): readonly string[] | "anything" | undefined {
  return files[path] ?? house[folderOf(path) ?? ""]?.imports;
}

function forbidden(
  path: string,
  allowed: readonly string[] | "anything",
  imported: string,
): string | undefined {
  if (imported === "src/main.ts") return "nothing imports the executable";
  if (allowed === "anything") return undefined;
  if (imported === "src/mod.ts" || imported === "src/shipped.ts") {
    return "nothing imports the public surface from inside";
  }
  const here = folderOf(path);
  if (!imported.startsWith("src/")) {
    if (imported.startsWith(".") || /^(?:tools|tests|bench)\//.test(imported)) {
      return "src/ stands alone";
    }
    if (here === "wire" && /^effection(?:\/|$)/.test(imported)) return "wire/ is pure";
    if (here === "model") return "model/ needs no package";
    return undefined;
  }
  const name = imported.slice("src/".length).replace(/\.ts$/, "");
  const folder = folderOf(imported);
  const permitted = [name, ...folder === undefined ? [] : [folder]];
  if (folder !== undefined && folder === here) return undefined;
  return permitted.some((one) => allowed.includes(one))
    ? undefined
    : `${here ?? path} may not import ${folder ?? name}`;
}

/** The folder below `src/` that contains a file; undefined for files directly in `src/`. */
function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\/./.exec(path)?.[1];
}

function target(path: string, specifier: string, packageName: string): string {
  if (specifier === packageName) return "src/mod.ts";
  if (!/^\.{1,2}\//.test(specifier)) return specifier;
  return posix.normalize(posix.join(posix.dirname(path), specifier));
}

/** Folders whose rows form a cycle: the order would not be partial. */
export function cycleComplaints(): string[] {
  const reached = (from: string, seen = new Set<string>()): Set<string> => {
    for (const one of house[from]?.imports ?? []) {
      const folder = one.split("/")[0]!;
      if (!seen.has(folder)) reached(folder, seen.add(folder));
    }
    return seen;
  };
  return Object.keys(house).filter((folder) => reached(folder).has(folder));
}

/** The table of folders as docs/architecture.md shows it. */
export function houseTable(): string[] {
  return Object.entries(house).map(([folder, { purpose, imports }]) =>
    `| \`${folder}/\` | ${purpose} | ${imports.join(", ") || "nothing"} |`
  );
}

/** Only these may know which runtime they run on. */
const runtimeAware = /^src\/(?:platform\/|store\/|main\.ts$)/;

export function globalComplaints(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) =>
    runtimeAware.test(path) ? [] : ["Deno", "Bun"]
      .filter((name) => usesGlobal(text, name))
      .map((name) => `${path}: uses ${name}, which belongs in src/platform or src/store`)
  );
}

/** `export *` hides what is public. */
export function starComplaints(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) =>
    tokens(text).some((token, index, all) =>
        token.text === "*" && all[index - 1]?.text === "export"
      )
      ? [`${path}: exports by star; name what it exports`]
      : []
  );
}

const INVARIANT = /^ \* ([A-Z]+-?\d+) {2}/gm;

/**
 * Invariants in file heads, such as `REPLAY-1  Outcomes are …`: a label must be a word and a number,
 * stand in one file only, and be cited where the code upholds it.
 */
export function invariantComplaints(sources: readonly Source[]): string[] {
  const all = sources.map(({ text }) => text).join("\n");
  const defined = sources.flatMap(({ path, text }) =>
    Array.from(text.matchAll(INVARIANT), ([, label = ""]) => ({ path, label }))
  );
  return defined.flatMap(({ path, label }) => {
    const times = defined.filter((other) => other.label === label).length;
    if (!/^[A-Z]{3,}-\d+$/.test(label)) return [`${path}: ${label} is not a word and a number`];
    if (times > 1) return [`${path}: ${label} stands more than once`];
    const isCited = all.split(new RegExp(`\\b${label}\\b`)).length > 2;
    return isCited ? [] : [`${path}: ${label} is not cited; cite it where the code upholds it`];
  });
}

/** Files with more lines than `cap`. */
export function sizeComplaints(sources: readonly Source[], cap: number): string[] {
  return sources
    .map(({ path, text }) => ({ path, lines: lineCount(text) }))
    .filter(({ lines }) => lines > cap)
    .map(({ path, lines }) => `${path}: ${lines} lines, more than ${cap}; split it by purpose`);
}

const SLIVER_LINES = 30;

/**
 * Files so small, and imported by one other file only, that they belong in that file.
 * A `borders` entry is a file that is small on purpose, with the reason.
 */
export function sliverComplaints(
  sources: readonly Source[],
  packageName: string,
  borders: { readonly [path: string]: string } = {},
): string[] {
  const importers = new Map<string, Set<string>>();
  for (const { path, text } of sources) {
    for (const specifier of importsOf(text)) {
      const imported = target(path, specifier, packageName);
      importers.set(imported, (importers.get(imported) ?? new Set()).add(path));
    }
  }
  const slivers = sources.flatMap(({ path, text }) => {
    const by = [...importers.get(path) ?? []];
    return lineCount(text) <= SLIVER_LINES && by.length === 1 ? [{ path, into: by[0]! }] : [];
  });
  return [
    ...slivers.filter(({ path }) => !(path in borders))
      .map(({ path, into }) => `${path}: a sliver; merge it into ${into}`),
    ...Object.keys(borders).filter((path) => !slivers.some((sliver) => sliver.path === path))
      .map((path) => `${path}: is listed as a small file on purpose, and is none`),
  ];
}

export function medianLines(sources: readonly Source[]): number {
  const sorted = sources.map(({ text }) => lineCount(text)).sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2;
}

function lineCount(text: string): number {
  return text.replace(/\n$/, "").split("\n").length;
}
