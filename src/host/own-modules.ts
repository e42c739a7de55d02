/**
 * Lets modules from anywhere import what is inside of this program by name, and
 * get the very same copies: a tool beside the executable needs no `node_modules`,
 * and its errors and contexts are those that we know.
 */
import process from "node:process";

/** A module of ours: where it stands, and how it is loaded where it stands nowhere. */
export interface OwnModule {
  readonly url: () => string;
  readonly load: () => Promise<object>;
}

/** By the names under which they are imported. */
export type OwnModules = { readonly [specifier: string]: OwnModule };

/** As much of Bun's own types as is used here; the whole of them clashes with Deno's. */
declare const Bun: {
  plugin(plugin: {
    name: string;
    setup(build: {
      module(
        specifier: string,
        load: () => Promise<{ loader: "object"; exports: object }>,
      ): void;
    }): void;
  }): void;
};

/** As much of `node:module` as is used here: Node's own types lag behind it. */
interface ModuleHooks {
  registerHooks(hooks: {
    resolve(specifier: string, context: unknown, next: Next): unknown;
    load(url: string, context: unknown, next: Next): unknown;
  }): void;
}

type Next = (specifier: string, context: unknown) => unknown;

let registered = false;

export function registerOwnModules(modules: OwnModules): void {
  if (registered) return;
  registered = true;
  if ("Bun" in globalThis) {
    Bun.plugin({
      name: "own-modules",
      setup(build) {
        for (const [specifier, { load }] of Object.entries(modules)) {
          build.module(specifier, async () => ({ loader: "object", exports: await load() }));
        }
      },
    });
    return;
  }
  const { registerHooks } = process.getBuiltinModule("node:module") as unknown as ModuleHooks;
  registerHooks({
    resolve(specifier, context, next) {
      const own = Object.hasOwn(modules, specifier) ? modules[specifier] : undefined;
      return own ? { url: own.url(), shortCircuit: true } : next(specifier, context);
    },
    // Without this one, Deno reads the whole graph before it asks the other.
    load: (url, context, next) => next(url, context),
  });
}
