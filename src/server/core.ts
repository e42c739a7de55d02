/** The state that both protocol eras share: the catalog, the running calls, the limits. */
import type { Deadlines } from "../lib/deadlines.ts";
import { Shares } from "../lib/shares.ts";
import type { ServerChange } from "../model/events.ts";
import type { ServerHooks } from "../registry/options.ts";
import { LiveToolSessionRegistry } from "../registry/registry.ts";
import { tellAnswered, tellAsked } from "../registry/report.ts";
import type { Middleware } from "../run/run-port.ts";
import type { ClientSessionStore } from "../store/types.ts";
import type { Served } from "../tool/skill.ts";
import { Access, type Gate } from "./access.ts";
import { Catalog } from "./catalog.ts";
import { AppCalls } from "./doors/answer-call.ts";
import { Doors } from "./doors/doors.ts";
import { Patience } from "./doors/patience.ts";
import { AskingPlaces } from "./doors/places.ts";
import { Readings } from "./doors/readings.ts";
import { isLazy, LazyCatalog } from "./lazy-catalog.ts";
import { tend } from "./modern/tasks.ts";
import { type ParleyOptions, type ServerInfo, type ServerLimits, serverLimits } from "./options.ts";
import { Pages } from "./pages.ts";
import type { OpenPort } from "./ports.ts";
import { Readiness, writable } from "./readiness.ts";

/** The options of a server, including those that the platform adds. */
export interface CoreOptions extends ParleyOptions {
  /** Identifies callers by their access tokens. Default: the option `principal` identifies them. */
  readonly gate?: Gate;
  readonly openPort?: OpenPort;
  /** Serves the console. Undefined while it is off. */
  readonly consoleSite?: ConsoleSite;
  /** An existing registry for the server to use. Default: the server creates a registry. */
  readonly registry?: LiveToolSessionRegistry;
}

/** The interface of the console for the transport. */
export interface ConsoleSite {
  handles(path: string): boolean;
  /** `isLocal` is true if the request was sent on this machine. */
  serve(request: Request, path: string, isLocal: boolean): Promise<Response>;
  close(): Promise<void>;
}

/** The default of `askWait`. Official clients end a call after 60 seconds, even if it reports progress. */
const ASK_WAIT = 20_000;

export class ServerCore {
  readonly access: Access;
  readonly catalog: Catalog;
  /** Definitions that are loaded on first use. Undefined if there are none. */
  readonly arrival: LazyCatalog | undefined;
  readonly changes = new Changes();
  readonly registry: LiveToolSessionRegistry;
  readonly pages: Pages;
  /** The pages on which people answer questions. */
  readonly places = new AskingPlaces(this);
  /** The reads of resources that ask questions. */
  readonly readings = new Readings(this);
  /** The calls whose questions are shown in views. */
  readonly apps = new AppCalls();
  /** Milliseconds for which `continue_call` waits for an answer. */
  readonly askWait: number;
  /**
   * Milliseconds after which the question of an unanswered form is also asked on a page. Undefined
   * for never.
   */
  readonly askPatience: number | undefined;
  readonly openBrowser: ((url: string) => void) | undefined;
  /** True if `openBrowser` can open a page where a person sees it. */
  readonly canOpenBrowser: () => boolean;
  readonly patience = new Patience(this);
  readonly deadlines: Deadlines;
  /** The checks that must succeed before the server is ready for calls. */
  readonly readiness: Readiness;
  readonly info: ServerInfo;
  readonly instructions: string | undefined;
  readonly limits: ServerLimits;
  /** True if records of calls are sealed into the request states of modern clients. */
  readonly carriesRecords: boolean;
  /** The store of legacy client sessions. Undefined if sessions are kept only in memory. */
  readonly clients: ClientSessionStore | undefined;
  closing = false;
  /** True while the server refuses new calls and lets running calls finish. */
  draining = false;
  /** The open streams of both eras, counted per caller. */
  readonly streams: Shares;

  readonly #sharesRegistry: boolean;
  #ending: Promise<void> | undefined;

  constructor(options: CoreOptions) {
    const { serve, registry } = options;
    const { store } = registry ?? options;
    this.access = options.gate?.access ?? new Access(undefined, {});
    this.limits = serverLimits(options.limits);
    const { maxStreams, maxStreamsPerPrincipal, maxPages, maxPagesPerPrincipal } = this.limits;
    this.streams = new Shares({ max: maxStreams, maxPerPrincipal: maxStreamsPerPrincipal });
    const pages = new Shares({ max: maxPages, maxPerPrincipal: maxPagesPerPrincipal });
    this.catalog = new Catalog(isLazy(serve) ? [] : serve);
    this.pages = new Pages(options, pages);
    this.pages.doors = new Doors(this.pages, options);
    this.askWait = options.askWait ?? ASK_WAIT;
    const around = composed(options.use ?? []);
    this.askPatience = options.askPatience;
    this.openBrowser = options.openBrowser;
    this.canOpenBrowser = options.canOpenBrowser ?? (() => options.openBrowser !== undefined);
    const { onAnswer, onQuestion } = options;
    const hooks: ServerHooks = {
      site: this.pages,
      ...(around && { around }),
      ...(onQuestion && {
        asked: (session, request, isTimeout) => tellAsked(session, request, isTimeout, onQuestion),
      }),
      ...(onAnswer && {
        answered: (session, request, body) => tellAnswered(session, request, body, onAnswer),
      }),
      announce: (change) => this.changes.announce(change),
      find: (kind, name) => this.catalog.find(kind, name),
      woken: (session) => tend(this, session),
      ended: (session) => {
        if (this.places.open.size > 0) this.places.ended(session);
        if (this.readings.open.size > 0) this.readings.ended(session);
        if (this.askPatience !== undefined) this.patience.ended(session);
        if (this.apps.expected.size > 0) this.apps.ended(session);
      },
      sweep: options.clients ? [options.clients] : [],
    };
    registry?.attach(hooks);
    this.#sharesRegistry = registry !== undefined;
    this.registry = registry ?? new LiveToolSessionRegistry({ ...options, ...hooks });
    this.pages.settle(this.registry);
    this.deadlines = this.registry.deadlines;
    const { scope, report } = this.registry;
    this.readiness = new Readiness(scope, this.deadlines, report);
    if (store) this.readiness.add(writable(store, () => this.deadlines.now()));
    if (isLazy(serve)) this.arrival = new LazyCatalog(serve, this.catalog, this.registry.report);
    this.info = {
      name: options.name ?? "parley",
      version: options.version ?? "0.1.0",
      ...options.info,
    };
    this.instructions = options.instructions;
    this.clients = options.clients;
    this.carriesRecords = options.state === "sealed";
    // The default in-memory store is new and has no sessions to resume.
    if (store) this.#goOn();
  }

  /** Ends all calls of this server, and waits until they have cleaned up. */
  endCalls(): Promise<void> {
    return this.#ending ??= this.#sharesRegistry ? this.registry.detach() : this.registry.close();
  }

  /** The error message if a caller cannot open another stream. Undefined if the caller can. */
  refusesStream(principal: string): string | undefined {
    const reached = this.closing ? "total" : this.streams.refuses(principal);
    if (reached === undefined) return undefined;
    if (reached === "total") {
      return "Cannot open a stream: the server has reached its limit; try again later";
    }
    const own = this.streams.of(principal);
    const state = reached === "share"
      ? `the caller has reached its limit of ${own} streams`
      : `the caller has ${own} streams, and the remaining ones are reserved for callers with fewer`;
    return `Cannot open a stream: ${state}; close one, or try again later`;
  }

  /** Resumes the sessions in the store, after the definitions that they run are loaded. */
  #goOn(): void {
    const coming = this.arrival?.now();
    if (!coming) return this.registry.wake();
    coming.then(() => {
      if (!this.closing) this.registry.wake();
    });
  }
}

/** Combines all middleware into one. The first is the outermost. Undefined if there is none. */
function composed(all: readonly Middleware[]): Middleware | undefined {
  if (all.length === 0) return undefined;
  return all.reduceRight((inner, outer) => (call, next) => outer(call, () => inner(call, next)));
}

/**
 * Receives changes. `about` is the definition that was added or removed. Undefined for other
 * changes.
 */
type ChangeListener = (change: ServerChange, about?: Served) => void;

export class Changes {
  readonly #listeners = new Set<ChangeListener>();

  get listeners(): number {
    return this.#listeners.size;
  }

  listen(hear: ChangeListener): () => void {
    const listener: ChangeListener = (change, about) => hear(change, about);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  announce(change: ServerChange, about?: Served): void {
    for (const listener of [...this.#listeners]) listener(change, about);
  }
}
