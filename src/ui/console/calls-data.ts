/// <reference lib="dom" />
/** Loads the data for the screens about calls, and keeps it up to date. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CallDetail, CallEvents, CallPage, CallSummary } from "../../model/calls.ts";
import type { ToolSessionEvent } from "../../model/events.ts";
import { branchOf } from "./describe-event.ts";
import { follow, get } from "./server.ts";

/** Updates of a screen, which return when they are done. */
type Update = () => Promise<unknown>;

/**
 * Runs the updates of a screen when a call has changed. `id` is the call. Default: all calls. While
 * the page is hidden, nothing is updated.
 */
export class Updates {
  readonly #all = new Set<Update>();
  readonly #end = new AbortController();

  constructor(id?: string) {
    const path = id === undefined ? "api/watch" : `api/calls/${encodeURIComponent(id)}/watch`;
    const { signal } = this.#end;
    follow(path, signal, async () => {
      if (document.hidden) await shown(signal);
      await Promise.all([...this.#all].map((update) => update().catch(() => {})));
    });
  }

  /** Adds an update, and runs it now. Returns a function that removes it. */
  add(update: Update): () => void {
    this.#all.add(update);
    update().catch(() => {});
    return () => this.#all.delete(update);
  }

  end(): void {
    this.#end.abort();
  }
}

/** Resolves when the page is visible, or when the signal is aborted. */
function shown(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}

/** The updates of all calls, or of one call, for as long as a component lives. */
export function useUpdates(id?: string): Updates {
  const updates = useMemo(() => new Updates(id), [id]);
  useEffect(() => () => updates.end(), [updates]);
  return updates;
}

/** The number of calls that wait. */
export function useWaiting(updates: Updates): number {
  const [count, setCount] = useState(0);
  useEffect(() =>
    updates.add(async () => {
      const { total } = await get<CallPage>("api/calls?state=waiting&limit=1");
      setCount(total);
    }), [updates]);
  return count;
}

export interface CallList {
  readonly calls: readonly CallSummary[];
  readonly total: number;
  readonly problem: string;
  readonly isLoaded: boolean;
  /** Loads the list up to an index. */
  wanted(from: number, to: number): void;
}

const PAGE = 200;
/** Up to this index, the list is loaded again when calls have changed. */
const FRESH = 150;

/** The calls that match a query. Only those that the person has scrolled to are loaded. */
export function useCalls(query: string, updates: Updates): CallList {
  const [page, setPage] = useState<CallPage>({ calls: [], total: 0 });
  const [problem, setProblem] = useState("");
  const [isLoaded, setLoaded] = useState(false);
  const state = useRef({ busy: false, to: 0, query, page });
  state.current.page = page;

  const load = useCallback(async (after: string | undefined) => {
    const { current } = state;
    if (current.busy) return;
    current.busy = true;
    const asked = current.query;
    try {
      const size = after === undefined && current.to === 0 ? 50 : PAGE;
      const next = after === undefined ? "" : `&after=${encodeURIComponent(after)}`;
      const found = await get<CallPage>(`api/calls?${asked}&limit=${size}${next}`);
      if (asked === current.query) {
        const before = after === undefined ? [] : current.page.calls;
        setPage(current.page = { ...found, calls: [...before, ...found.calls] });
        setProblem("");
        setLoaded(true);
      }
    } catch (error) {
      setProblem((error as Error).message);
    }
    current.busy = false;
    const { calls, next } = current.page;
    if (asked !== current.query) return await load(undefined);
    // Pages follow each other, so a place far down is reached page by page.
    if (next !== undefined && calls.length < current.to) await load(next);
  }, []);

  useEffect(() => {
    state.current.query = query;
    setLoaded(false);
    return updates.add(async () => {
      // What is far down stays as it is: loading the list again would move it.
      if (state.current.to < FRESH) await load(undefined);
    });
  }, [query, updates]);

  const wanted = useCallback((_from: number, to: number) => {
    const { current } = state;
    current.to = to;
    if (current.page.next !== undefined && current.page.calls.length < to) load(current.page.next);
  }, []);
  return { calls: page.calls, total: page.total, problem, isLoaded, wanted };
}

/** A call, or why there is none. */
export function useCall(id: string, updates: Updates): CallDetail | Error | undefined {
  const [found, setFound] = useState<CallDetail | Error>();
  useEffect(
    () =>
      updates.add(() =>
        get<CallDetail>(`api/calls/${encodeURIComponent(id)}`).then(setFound, setFound)
      ),
    [id, updates],
  );
  return found;
}

export function loadEvents(id: string, from: number, limit: number): Promise<CallEvents> {
  return get(`api/calls/${encodeURIComponent(id)}/events?from=${from}&limit=${limit}`);
}

const CHUNK = 200;
const MAX_CHUNKS = 20;

/** The log of a call. Only the parts that the person looks at are in memory. */
export class EventWindow {
  readonly #chunks = new Map<number, readonly ToolSessionEvent[]>();
  readonly #loading = new Set<number>();

  /** The branches of the questions, by their ids. */
  readonly #asking = new Map<string, string>();

  constructor(readonly id: string, readonly changed: () => void) {}

  /** The branch of an event. An answer belongs to the branch of its question, if that is loaded. */
  branchOf(event: ToolSessionEvent): string {
    const asked = "requestId" in event ? this.#asking.get(event.requestId) : undefined;
    return asked ?? branchOf(event);
  }

  /** The event with this LSN, if it is loaded. */
  at(lsn: number): ToolSessionEvent | undefined {
    const chunk = this.#chunks.get(Math.floor(lsn / CHUNK));
    return chunk?.find((event) => event.lsn === lsn);
  }

  /** Loads a range of the log. `last` is the LSN of the last event that exists. */
  want(from: number, to: number, last: number): void {
    for (let at = Math.floor(from / CHUNK); at <= Math.floor(to / CHUNK); at++) {
      const end = Math.min(last, at * CHUNK + CHUNK - 1);
      const isComplete = this.#chunks.get(at)?.some(({ lsn }) => lsn === end);
      if (!isComplete && !this.#loading.has(at) && at * CHUNK <= last) this.#load(at);
    }
  }

  async #load(at: number): Promise<void> {
    this.#loading.add(at);
    try {
      const { events } = await loadEvents(this.id, Math.max(1, at * CHUNK), CHUNK);
      const own = events.filter(({ lsn }) => Math.floor(lsn / CHUNK) === at);
      this.#chunks.delete(at);
      this.#chunks.set(at, own);
      for (const event of own) if ("id" in event) this.#asking.set(event.id, branchOf(event));
      const [oldest] = this.#chunks.keys();
      if (this.#chunks.size > MAX_CHUNKS) this.#chunks.delete(oldest!);
      this.changed();
    } catch {
      // The next change or scroll loads it again.
    }
    this.#loading.delete(at);
  }
}
