/**
 * Lets the modules of tools import the packages of this program by name, and gives them the same
 * module instances. So a tool next to the executable needs no `node_modules`, and `instanceof` and
 * Effection contexts work across the two.
 */
import process from "node:process";
import { isExecutable } from "./self.ts";

/** A module of this program: its URL, and how to load it from inside an executable. */
export interface OwnModule {
  readonly url: () => string;
  readonly load: () => Promise<object>;
}

/** Modules by the names under which they are imported. */
export type OwnModules = { readonly [specifier: string]: OwnModule };

let registered = false;

export function registerOwnModules(modules: OwnModules): void {
  if (registered) return;
  registered = true;
  if ("Bun" in globalThis) registerWithBun(modules);
  else registerHooks(modules);
}

// The implementation for Bun.

/** The parts of Bun's API that this file uses. Bun's full types conflict with Deno's. */
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
        // Outside an executable, load by URL: importing by name would call this hook again.
        const found = inside ? load : () => import(url());
        build.module(specifier, async () => ({ loader: "object", exports: await found() }));
      }
    },
  });
}

// The implementation for Deno and Node.

/** The part of `node:module` that this file uses and that Node's types lack. */
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
  // Resolve the URLs before the hooks are registered. On Node, resolving later would call the hook.
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
    // Without a load hook, Deno reads the whole module graph before it calls `resolve`.
    load: (url, context, next) => next(url, context),
  });
}

/** True if Deno resolved the name of an unknown package as the path of a file. */
function isUnfound(specifier: string, parent: string | undefined, url: string): boolean {
  return /^[@\w]/.test(specifier) && !URL.canParse(specifier) && URL.canParse(specifier, parent) &&
    url === new URL(specifier, parent).href;
}
