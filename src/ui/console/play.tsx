/** @jsxImportSource preact */
/// <reference lib="dom" />
/** Play: every tool, prompt and resource with a form, called through the real MCP endpoint. */
import { run } from "effection";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import type { JsonObject } from "../../model/content.ts";
import type { AboutConsole } from "./document.ts";
import { Empty, Tabs } from "./parts.tsx";
import {
  CAPABILITIES,
  ERAS,
  listPlayables,
  type Playable,
  PlayRun,
  type PlaySettings,
} from "./play-run.ts";
import { RunView } from "./run-view.tsx";
import { SchemaForm } from "./schema-form.tsx";
import { mcpUrl } from "./server.ts";

const USUAL: PlaySettings = {
  era: "modern",
  can: { forms: true, pages: true, sampling: true, roots: false, apps: false },
  token: "",
};

const KINDS = { tool: "Tools", prompt: "Prompts", resource: "Resources" } as const;

export const playAddress = ({ kind, name }: Pick<Playable, "kind" | "name">): string =>
  `#/play/${kind}/${encodeURIComponent(name)}`;

export function Play({ about, path }: { about: AboutConsole; path: readonly string[] }) {
  const url = mcpUrl(about);
  const [settings, setSettings] = useState(USUAL);
  const [found, setFound] = useState<readonly Playable[]>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (about.needsToken && settings.token === "") return;
    const task = run(() => listPlayables(url, settings));
    task.then(
      (list) => {
        setFound(list);
        setProblem("");
      },
      (error) => setProblem((error as Error).message),
    );
    return () => void task.halt();
  }, [url, settings]);
  const [kind, name = ""] = path;
  const chosen = found?.find((one) => one.kind === kind && one.name === decodeURIComponent(name)) ??
    found?.[0];
  return (
    <>
      <div class="head">
        <h1>Play</h1>
        <p>Try what this server offers, as a real client of its MCP endpoint.</p>
      </div>
      <Settings about={about} settings={settings} change={setSettings} />
      {problem && <p class="problem" role="alert">{problem}</p>}
      {found &&
        (found.length === 0
          ? <Empty title="This server offers nothing yet" />
          : (
            <div class="catalog">
              <nav aria-label="Tools, prompts and resources">
                {(["tool", "prompt", "resource"] as const).map((kind) => (
                  <Group key={kind} kind={kind} all={found} chosen={chosen} />
                ))}
              </nav>
              {chosen && (
                <Player
                  key={`${chosen.kind} ${chosen.name}`}
                  of={chosen}
                  settings={settings}
                  url={url}
                />
              )}
            </div>
          ))}
    </>
  );
}

function Group({ kind, all, chosen }: {
  kind: keyof typeof KINDS;
  all: readonly Playable[];
  chosen: Playable | undefined;
}) {
  const own = all.filter((one) => one.kind === kind);
  if (own.length === 0) return null;
  return (
    <>
      <h2>{KINDS[kind]}</h2>
      {own.map((one) => (
        <a
          key={one.name}
          href={playAddress(one)}
          aria-current={one === chosen ? "page" : undefined}
        >
          {one.name}
          <small>{one.title === one.name ? one.description : one.title}</small>
        </a>
      ))}
    </>
  );
}

function Settings({ about, settings, change }: {
  about: AboutConsole;
  settings: PlaySettings;
  change: (settings: PlaySettings) => void;
}) {
  const { era, can, token } = settings;
  return (
    <div class="card">
      <fieldset class="ticks">
        <legend>Protocol</legend>
        {(["modern", "legacy"] as const).map((one) => (
          <label key={one}>
            <input
              type="radio"
              name="era"
              checked={era === one}
              onChange={() => change({ ...settings, era: one })}
            />
            {ERAS[one]}
          </label>
        ))}
      </fieldset>
      <fieldset class="ticks">
        <legend>The client can</legend>
        {Object.entries(CAPABILITIES).map(([key, label]) => (
          <label key={key}>
            <input
              type="checkbox"
              checked={can[key as keyof typeof can]}
              onChange={({ currentTarget }) =>
                change({ ...settings, can: { ...can, [key]: currentTarget.checked } })}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <p class="note">
        {can.sampling
          ? "You answer sampling requests by hand, as the model."
          : about.hasModel
          ? "The server's own model answers sampling requests."
          : "Nobody answers sampling requests: the client cannot, and the server has no model."}
      </p>
      {about.needsToken && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const { value } = event.currentTarget.elements.namedItem("token") as HTMLInputElement;
            change({ ...settings, token: value.trim() });
          }}
        >
          <div class="field">
            <label for="play-token">Access token</label>
            <p class="help" id="play-token-help">
              This server checks who calls. The token stays in this tab, and is sent to its MCP
              endpoint only.
            </p>
            <input
              id="play-token"
              name="token"
              type="password"
              autocomplete="off"
              aria-describedby="play-token-help"
            />
          </div>
          <button type="submit">{token === "" ? "Use this token" : "Use another token"}</button>
        </form>
      )}
    </div>
  );
}

function Player({ of, settings, url }: { of: Playable; settings: PlaySettings; url: string }) {
  const [play, setPlay] = useState<PlayRun>();
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const [as, setAs] = useState<"form" | "json">("form");
  const needsNothing = Object.keys((of.schema.properties ?? {}) as object).length === 0;
  useEffect(() => () => void play?.close(), [play]);
  const start = (args: JsonObject) =>
    setPlay(new PlayRun(of, args, settings, url, () => redraw(0)));
  const cancel = play?.state.status === "running" && (
    <button
      type="button"
      class="danger"
      onClick={() => play.cancel()}
    >
      Cancel
    </button>
  );
  return (
    <div>
      <section class="card" aria-label={of.title}>
        <h2>{of.title}</h2>
        {of.description && <p class="note">{of.description}</p>}
        {!needsNothing && (
          <Tabs
            label="How to enter the arguments"
            tabs={[["form", "Form"], ["json", "JSON"]]}
            chosen={as}
            choose={setAs}
          />
        )}
        {as === "form"
          ? (
            <SchemaForm schema={of.schema} submit={play ? "Run again" : "Run"} send={start}>
              {cancel}
            </SchemaForm>
          )
          : <JsonArguments schema={of.schema} send={start}>{cancel}</JsonArguments>}
      </section>
      {play && <RunView run={play} />}
    </div>
  );
}

/** All arguments as one JSON text, for what a form cannot show. */
function JsonArguments({ schema, send, children }: {
  schema: JsonObject;
  send: (args: JsonObject) => void;
  children: ComponentChildren;
}) {
  const form = useMemo(() => ({
    type: "object",
    properties: { json: { type: "object", title: "Arguments", default: exampleOf(schema) } },
    required: ["json"],
  }), [schema]);
  return (
    <SchemaForm schema={form} submit="Run" send={({ json }) => send(json as JsonObject)}>
      {children}
    </SchemaForm>
  );
}

/** An object with the required properties, as a start. */
function exampleOf({ properties = {}, required = [] }: JsonObject): JsonObject {
  const names = (required as string[]).map((name): [string, unknown] => {
    const { type, default: value } = ((properties as JsonObject)[name] ?? {}) as JsonObject;
    const empty = { number: 0, integer: 0, boolean: false, array: [], object: {} };
    return [name, value ?? empty[type as keyof typeof empty] ?? ""];
  });
  return Object.fromEntries(names);
}
