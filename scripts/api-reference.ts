/**
 * Generates the API reference from the source: the comment, the examples and the declaration of
 * every public symbol. `deno doc` finds the symbols, and needs no network.
 */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { readText, root } from "../tests/harness/files.ts";
import { useRuntime } from "../tests/harness/toolchain.ts";
import { cutDeclaration, type Member } from "./cut-declaration.ts";

interface Located {
  readonly location: { readonly filename: string; readonly line: number };
  readonly jsDoc?: { readonly doc?: string; readonly tags?: readonly Tag[] };
}
interface Tag {
  readonly kind: string;
  readonly doc?: string;
}
interface Declaration extends Located {
  readonly kind: string;
  readonly def: {
    readonly extends?: unknown;
    readonly constructors?: readonly Located[];
    readonly properties?: readonly (Located & { accessibility?: string; name: string })[];
    readonly methods?: readonly (Located & { accessibility?: string; name: string })[];
  };
}

/** A name that the package exports, with its documentation. */
export interface PublicSymbol {
  readonly name: string;
  readonly kind: string;
  /** The file that declares the symbol, relative to the root of the project. */
  readonly file: string;
  readonly doc: string;
  readonly examples: readonly string[];
  readonly declaration: string;
}

/** Runs `deno doc` on src/mod.ts. */
function denoDoc(option: "--json" | "--lint") {
  const { path } = useRuntime("deno");
  return spawnSync(path, ["doc", option, "src/mod.ts"], {
    cwd: root,
    env: { ...process.env, NO_COLOR: "1" },
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
}

/** Types that exported declarations mention and src/mod.ts does not export. */
export function privateTypes(): string[] {
  const mentions = denoDoc("--lint").stderr.matchAll(/references private type '([^']+)'/g);
  return [...new Set(Array.from(mentions, ([, name]) => name!))].sort();
}

/** Everything that the package exports, in the order of src/mod.ts. */
export function publicSymbols(): PublicSymbol[] {
  const { status, stdout, stderr } = denoDoc("--json");
  if (status !== 0) throw new Error(`Cannot read src/mod.ts: deno doc failed:\n${stderr}`);
  const { nodes } = JSON.parse(stdout) as {
    nodes: { [url: string]: { symbols: { name: string; declarations: Declaration[] }[] } };
  };
  return Object.values(nodes).flatMap(({ symbols }) =>
    symbols.map(({ name, declarations: [declaration] }) => toSymbol(name, declaration!))
  );
}

function toSymbol(name: string, declaration: Declaration): PublicSymbol {
  const { location, jsDoc = {}, kind } = declaration;
  const file = relative(root, fileURLToPath(location.filename)).replaceAll("\\", "/");
  return {
    name,
    kind,
    file,
    doc: jsDoc.doc?.trim() ?? "",
    examples: (jsDoc.tags ?? []).flatMap((tag) => tag.kind === "example" ? [tag.doc ?? ""] : []),
    declaration: cutDeclaration(readText(file), kind, location.line, membersOf(declaration)),
  };
}

/** The public members of a class. */
function membersOf({ def }: Declaration): Member[] {
  const { constructors = [], properties = [], methods = [] } = def;
  return [...constructors, ...properties, ...methods]
    .filter((member) => !("accessibility" in member && member.accessibility === "private"))
    .map(({ location, jsDoc }) => ({ line: location.line, doc: jsDoc?.doc }))
    .sort((a, b) => a.line - b.line);
}

/** The chapters, by the files whose symbols they contain. */
const CHAPTERS: readonly (readonly [title: string, files: RegExp])[] = [
  [
    "Writing tools, prompts, resources and skills",
    /^src\/(?:ui\/|skills\/|tool\/(?!elicit-types|sample-types))/,
  ],
  ["Asking the person and the model", /^src\/(?:ask\/|tool\/(?:elicit|sample)-types\.ts)/],
  ["Serving", /^src\/(?:parley\.ts|cli\/config\.ts|platform\/|server\/|transport\/)/],
  ["Testing", /^src\/testing\//],
  ["Errors", /^src\/model\/errors\.ts/],
  ["Credentials", /^src\/vault\//],
  ["The server's own model", /^src\/sampling\//],
  ["Sessions", /^src\/(?:(?:session|registry|run|lib)\/|model\/calls\.ts)/],
  ["Stores", /^src\/store\//],
  [
    "Schemas, contents and events",
    /^src\/(?:schema\/|model\/(?:content|events|header-parameter|principal)\.ts)/,
  ],
];

/** The whole page, as Markdown that is not formatted yet. */
export function apiPage(symbols: readonly PublicSymbol[]): string {
  const chapters = CHAPTERS.map(([title, files]) => {
    const own = symbols.filter(({ file }) => files.test(file));
    return { title, own: [...own.filter(isValue), ...own.filter((one) => !isValue(one))] };
  });
  const placed = chapters.flatMap(({ own }) => own);
  const lost = symbols.filter((symbol) => !placed.includes(symbol)).map(({ file }) => file);
  if (lost.length > 0) {
    throw new Error(
      `Cannot place ${lost}: no chapter contains its file; add the file to a chapter`,
    );
  }
  return [
    "# API reference",
    "",
    "This page lists everything that `parley-mcp` exports. `deno task api` generates it from the source.",
    "Anything else may change without notice. `Operation` is Effection's type for what `yield*` waits for.",
    "",
    ...chapters.map(({ title, own }) =>
      `- [${title}](#${anchor(title)}): ${
        own.filter(isValue).map(({ name }) => `\`${name}\``).join(", ") || "types"
      }`
    ),
    ...chapters.flatMap(({ title, own }) => ["", `## ${title}`, ...own.flatMap(entry)]),
    "",
  ].join("\n");
}

function entry({ name, doc, examples, declaration }: PublicSymbol): string[] {
  return [
    "",
    `### ${name}`,
    "",
    doc,
    ...examples.flatMap((example) => ["", example.trim()]),
    "",
    "```ts ignore",
    declaration,
    "```",
  ];
}

function isValue({ kind }: PublicSymbol): boolean {
  return kind === "function" || kind === "class" || kind === "variable";
}

function anchor(title: string): string {
  return title.toLowerCase().replaceAll(/[^\w\s-]/g, "").replaceAll(" ", "-");
}

/** Formats the page with `deno fmt`. */
export function formatted(text: string, ext: "md" | "ts" | "json" = "md"): string {
  const { status, stdout, stderr } = spawnSync(
    useRuntime("deno").path,
    ["fmt", "--ext", ext, "-"],
    { cwd: root, input: text, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 },
  );
  if (status !== 0) throw new Error(`Cannot format the page: deno fmt failed:\n${stderr}`);
  return stdout;
}
