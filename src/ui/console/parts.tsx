/** @jsxImportSource preact */
/// <reference lib="dom" />
/** Small parts that several screens of the console use. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** A coloured mark. `label` is its text; default: the state. */
export function Badge({ state, label = state.replace("-", " ") }: {
  state: string;
  label?: string;
}) {
  return <span class={`badge ${state}`}>{label}</span>;
}

/** JSON for people, as text. */
export function Json({ value }: { value: unknown }) {
  return <pre class="mono">{JSON.stringify(value, null, 2) ?? "nothing"}</pre>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Tabs with one panel, operated with the arrow keys too. */
export function Tabs<K extends string>({ tabs, chosen, choose, label }: {
  tabs: readonly (readonly [K, string])[];
  chosen: K;
  choose: (key: K) => void;
  label: string;
}) {
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const at = tabs.findIndex(([key]) => key === chosen);
    choose(tabs[(at + step + tabs.length) % tabs.length]![0]);
    const list = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => list.querySelector<HTMLElement>("[aria-selected=true]")?.focus());
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(([key, text]) => (
        <button
          key={key}
          type="button"
          role="tab"
          aria-selected={key === chosen}
          tabIndex={key === chosen ? 0 : -1}
          onClick={() => choose(key)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

/** A duration for people, such as `1.2 s` or `3 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const units = [["s", 1_000, 60], ["min", 60_000, 60], ["h", 3_600_000, 48]] as const;
  for (const [unit, size, most] of units) {
    const value = ms / size;
    if (value < most) {
      return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} ${unit}`;
    }
  }
  return `${Math.round(ms / 86_400_000)} days`;
}

/** The current time, updated every `interval` milliseconds. */
export function useNow(interval = 1_000): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), interval);
    return () => clearInterval(timer);
  }, [interval]);
  return now;
}

/** Shows a message for a moment, which screen readers read. */
let show: (text: string) => void = () => {};
export const toast = (text: string): void => show(text);

export function Toasts() {
  const [text, setText] = useState("");
  const timer = useRef(0);
  show = (text) => {
    setText(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setText(""), 5_000) as unknown as number;
  };
  return <div class="toasts" role="status">{text && <p class="toast">{text}</p>}</div>;
}

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} copied.`);
  } catch {
    toast("Cannot copy: the browser does not allow it.");
  }
}

/** A button that runs something once at a time, and shows why it failed. */
export function Action({ run, children, kind = "", disabled = false }: {
  run: () => Promise<unknown>;
  children: ComponentChildren;
  kind?: string;
  disabled?: boolean;
}) {
  const [busy, setBusy] = useState(false);
  const click = async () => {
    setBusy(true);
    try {
      await run();
    } catch (error) {
      toast((error as Error).message);
    }
    setBusy(false);
  };
  return (
    <button type="button" class={kind} disabled={busy || disabled} onClick={click}>
      {children}
    </button>
  );
}

/**
 * A list of which only the visible part is in the document. All rows have the same height.
 * `wanted` is called with the range that is visible, so that it can be loaded.
 */
export function Window({ count, height, row, label, wanted, tall = "70vh" }: {
  count: number;
  height: number;
  row: (index: number, style: { top: string; height: string }) => ComponentChildren;
  label: string;
  wanted?: (from: number, to: number) => void;
  tall?: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(800);
  useEffect(() => {
    const observer = new ResizeObserver(() => setRoom(box.current?.clientHeight ?? 0));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const from = Math.max(0, Math.floor(top / height) - OVERSCAN);
  const to = Math.min(count, Math.ceil((top + room) / height) + OVERSCAN, from + MAX_ROWS);
  useEffect(() => wanted?.(from, to), [from, to, wanted]);
  const rows = [];
  for (let index = from; index < to; index++) {
    rows.push(row(index, { top: `${index * height}px`, height: `${height}px` }));
  }
  return (
    <div
      class="window"
      ref={box}
      role="region"
      aria-label={label}
      tabIndex={0}
      style={{ height: `min(${tall}, ${Math.max(1, count) * height + 2}px)` }}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div style={{ height: `${count * height}px` }}>{rows}</div>
    </div>
  );
}

const OVERSCAN = 10;
/** The most rows of one list in the document. */
const MAX_ROWS = 200;
