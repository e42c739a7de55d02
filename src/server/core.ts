/** What both eras share: what is offered, what is running, and the server's own rules. */
import type { Clock } from "../lib/clock.ts";
import type { Deadlines } from "../lib/deadlines.ts";
import { Sealer } from "../lib/sealer.ts";
import { Shares } from "../lib/shares.ts";
import type { Icon } from "../model/content.ts";
import type { ServerChange } from "../model/events.ts";
import type { RegistryOptions } from "../registry/options.ts";
import { LiveToolSessionRegistry } from "../registry/registry.ts";
import type { ClientSessionStore } from "../store/types.ts";
import type { Definition } from "../tool/types.ts";
import { Catalog } from "./catalog.ts";
import { isLazy, LazyCatalog, type LazyDefinitions } from "./lazy-catalog.ts";
import { tend } from "./modern/tasks.ts";
import { Pages, type PagesOptions } from "./pages.ts";
import { Readiness, writable } from "./readiness.ts";

/** Who the server says it is. */
export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  readonly icons?: readonly Icon[];
}

/** How much the server takes on, and how long it waits. Times are milliseconds. */
export interface HandlerLimits {
  /** Bytes of a request's body; 4 MiB. */
  readonly maxBody: number;
  /** Keys, strings and elements in a body, together with its objects and arrays; 100,000. */
  readonly maxParts: number;
  /** Messages in a batch, which only revision 2025-03-26 has; 100. */
  readonly maxBatch: number;
  /** Characters that the answers to a batch may have together, unless they are streamed; 4 Mi. */
  readonly maxBatchAnswer: number;
  /** Until a body must have arrived; 30 s. */
  readonly bodyTime: number;
  /** How long a modern client may keep a list without asking again; one minute. */
  readonly listTtl: number;
  /** Entries on a page of a list; 100. */
  readonly pageSize: number;
  /** Client sessions of the legacy era; 10,000. */
  readonly maxClientSessions: number;
  /** How many of them one named caller may have; by default a tenth. */
  readonly maxClientSessionsPerPrincipal: number;
  /** Calls under way in one client session; 200. */
  readonly maxCallsPerClient: number;
  /** Streams open at once; 10,000. */
  readonly maxStreams: number;
  /** How many of them one named caller may have; by default a tenth. */
  readonly maxStreamsPerPrincipal: number;
  /** Pages that tools have open at once; 10,000. */
  readonly maxPages: number;
  /** How many of them may belong to one named caller; by default a hundredth. */
  readonly maxPagesPerPrincipal: number;
  /** Until a client session that nobody uses is forgotten; one hour. */
  readonly idleTime: number;
  /** How long a call may take before its answer becomes a stream; 100 ms. */
  readonly decideTime: number;
  /** Between signs of life on a silent stream; 8 s. */
  readonly keepAlive: number;
  /** Between signs of life as progress, for callers that asked for progress; 20 s. */
  readonly heartbeat: number;
  /** How long data may lie ready for a reader that does not take it; 30 s. */
  readonly stallTime: number;
  /** What clients are told to wait before they come back; 1 s. */
  readonly retry: number;
}

/** Without the shares of one caller, which follow from the limits of all. */
const DEFAULT_LIMITS = {
  maxBody: 4 * 1024 * 1024,
  maxParts: 100_000,
  maxBatch: 100,
  maxBatchAnswer: 4 * 1024 * 1024,
  bodyTime: 30_000,
  listTtl: 60_000,
  pageSize: 100,
  maxClientSessions: 10_000,
  maxCallsPerClient: 200,
  maxStreams: 10_000,
  maxPages: 10_000,
  idleTime: 3_600_000,
  decideTime: 100,
  keepAlive: 8_000,
  heartbeat: 20_000,
  stallTime: 30_000,
  retry: 1_000,
};

function limitsFrom(given: Partial<HandlerLimits> = {}): HandlerLimits {
  const limits = { ...DEFAULT_LIMITS, ...given };
  return {
    maxClientSessionsPerPrincipal: Math.ceil(limits.maxClientSessions / 10),
    maxStreamsPerPrincipal: Math.ceil(limits.maxStreams / 10),
    maxPagesPerPrincipal: Math.ceil(limits.maxPages / 100),
    ...limits,
  };
}

export interface CoreOptions
  extends Omit<RegistryOptions, "announce" | "woken" | "sweep" | "site">, PagesOptions {
  /** Tools, prompts and resources, or where they come from once somebody asks for them. */
  readonly serve?: Iterable<Definition> | LazyDefinitions;
  readonly name?: string;
  readonly version?: string;
  readonly info?: Omit<ServerInfo, "name" | "version">;
  /** What a model should know before it uses this server. */
  readonly instructions?: string;
  readonly limits?: Partial<HandlerLimits>;
  /**
   * Where the record of a durable call is while a modern client has its turn: `here`
   * (the default), or `sealed` into what the client carries, for tools that allow it.
   * Servers that share calls so must have the same key.
   */
  readonly state?: "here" | "sealed";
  /** Where clients of the legacy era are kept, so that they find themselves again after a restart. */
  readonly clients?: ClientSessionStore;
  readonly clock?: Clock;
}

export class ServerCore {
  readonly catalog: Catalog;
  /** What is served and not there yet, if there is any. */
  readonly arrival: LazyCatalog | undefined;
  readonly changes = new Changes();
  readonly registry: LiveToolSessionRegistry;
  readonly pages: Pages;
  readonly deadlines: Deadlines;
  /** What must be in order before the server takes calls; each part adds what it needs. */
  readonly readiness: Readiness;
  readonly info: ServerInfo;
  readonly instructions: string | undefined;
  readonly limits: HandlerLimits;
  /** Records travel with modern clients, where the tool allows it. */
  readonly carriesRecords: boolean;
  /** Where clients of the legacy era are kept, if they are. */
  readonly clients: ClientSessionStore | undefined;
  closing = false;
  /** New calls are refused already; those under way may end. */
  draining = false;
  /** Streams that are open now, in both eras. */
  readonly streams: Shares;

  constructor(options: CoreOptions) {
    const { serve, store, sealer = new Sealer() } = options;
    // Before anything is begun that would have to be ended.
    store?.checkKeys?.(sealer.keyIds);
    this.limits = limitsFrom(options.limits);
    const { maxStreams, maxStreamsPerPrincipal, maxPages, maxPagesPerPrincipal } = this.limits;
    this.streams = new Shares({ max: maxStreams, maxPerPrincipal: maxStreamsPerPrincipal });
    const pages = new Shares({ max: maxPages, maxPerPrincipal: maxPagesPerPrincipal });
    this.catalog = new Catalog(isLazy(serve) ? [] : serve);
    this.pages = new Pages(options, pages);
    this.registry = new LiveToolSessionRegistry({
      ...options,
      sealer,
      site: this.pages,
      announce: (change) => this.changes.announce(change),
      find: (kind, name) => this.catalog.find(kind, name),
      woken: (session) => tend(this, session),
      sweep: options.clients ? [options.clients] : [],
    });
    this.pages.settle(this.registry);
    this.deadlines = this.registry.deadlines;
    const { scope, report } = this.registry;
    this.readiness = new Readiness(scope, this.deadlines, report);
    if (options.store) this.readiness.add(writable(options.store, () => this.deadlines.now()));
    if (isLazy(serve)) this.arrival = new LazyCatalog(serve, this.catalog, this.registry.report);
    this.info = {
      name: options.name ?? "parley",
      version: options.version ?? "0.1.0",
      ...options.info,
    };
    this.instructions = options.instructions;
    this.clients = options.clients;
    this.carriesRecords = options.state === "sealed";
    // Over a store that is new with us, nobody has left anything.
    if (options.store) this.#goOn();
  }

  /** Why a caller cannot open another stream; undefined if it can. */
  refusesStream(principal: string): string | undefined {
    const reached = this.closing ? "total" : this.streams.reached(principal);
    if (reached === undefined) return undefined;
    return reached === "total"
      ? "Cannot open a stream: the server has as many as it can; try again later"
      : `Cannot open a stream: the caller has ${
        this.streams.of(principal)
      }, which is its share; close one, or try again later`;
  }

  /** Takes up what was left in the store, which needs what it is a run of. */
  #goOn(): void {
    const coming = this.arrival?.now();
    if (!coming) return this.registry.wake();
    coming.then(() => {
      if (!this.closing) this.registry.wake();
    });
  }
}

export class Changes {
  readonly #listeners = new Set<(change: ServerChange) => void>();

  get listeners(): number {
    return this.#listeners.size;
  }

  listen(hear: (change: ServerChange) => void): () => void {
    const listener = (change: ServerChange) => hear(change);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  announce(change: ServerChange): void {
    for (const listener of [...this.#listeners]) listener(change);
  }
}
