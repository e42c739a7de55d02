/**
 * Lets modules from anywhere import what is inside of this program by name, and
 * get the very same copies: a tool beside the executable needs no `node_modules`,
 * and its errors and contexts are those that we know.
 */
import process from "node:process";
import { isExecutable } from "./self.ts";

/** A module of ours: where it stands, and how it is loaded where it stands nowhere. */
export interface OwnModule {
  readonly url: () => string;
  readonly load: () => Promise<object>;
}

/** By the names under which they are imported. */
export type OwnModules = { readonly [specifier: string]: OwnModule };

let registered = false;

export function registerOwnModules(modules: OwnModules): void {
  if (registered) return;
  registered = true;
  if ("Bun" in globalThis) registerWithBun(modules);
  else registerHooks(modules);
}

// ---------------------------------------------------------------------- Bun

/** As much of Bun's own types as is used here; the whole of them clashes with Deno's. */
declare const Bun: {
  plugin(plugin: { name: string; setup(build: PluginBuilder): void }): void;
};

interface PluginBuilder {
  module(specifier: string, load: () => Promise<{ loader: "object"; exports: object }>): void;
}

function registerWithBun(modules: OwnModules): void {
  const inside = isExecutable();
  Bun.plugin({
    name: "own-modules",
    setup(build) {
      for (const [specifier, { url, load }] of Object.entries(modules)) {
        // Outside of an executable, to load it by its name would lead back here.
        const found = inside ? load : () => import(url());
        build.module(specifier, async () => ({ loader: "object", exports: await found() }));
      }
    },
  });
}

// ------------------------------------------------------------- Deno and Node

/** As much of `node:module` as is used here: the types lag behind it. */
interface ModuleHooks {
  registerHooks(hooks: {
    resolve(specifier: string, context: { parentURL?: string }, next: Next): Resolved;
    load(url: string, context: unknown, next: Next): unknown;
  }): void;
}

interface Resolved {
  readonly url: string;
  readonly shortCircuit?: boolean;
}

type Next = (specifier: string, context: unknown) => Resolved;

function registerHooks(modules: OwnModules): void {
  const { registerHooks } = process.getBuiltinModule("node:module") as unknown as ModuleHooks;
  // Looked up before there are hooks: on Node, to look them up later would lead back here.
  const urls = new Map(Object.entries(modules).map(([name, { url }]) => [name, url()]));
  registerHooks({
    resolve(specifier, context, next) {
      const own = urls.get(specifier);
      if (own !== undefined) return { url: own, shortCircuit: true };
      const found = next(specifier, context);
      if (isUnfound(specifier, context.parentURL, found.url)) {
        throw new Error(
          `there is no package "${specifier}" here; on Deno, import it as "npm:${specifier}"`,
        );
      }
      return found;
    },
    // Without this one, Deno reads the whole graph before it asks the other.
    load: (url, context, next) => next(url, context),
  });
}

/** Deno takes the name of a package that it does not know for that of a file. */
function isUnfound(specifier: string, parent: string | undefined, url: string): boolean {
  return /^[@\w]/.test(specifier) && !URL.canParse(specifier) && URL.canParse(specifier, parent) &&
    url === new URL(specifier, parent).href;
}
