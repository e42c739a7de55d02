/** @jsxImportSource preact */
/// <reference lib="dom" />
/** The console's page: enters with the ticket of a link, and shows the screen of the address. */
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { CallList } from "./call-list.tsx";
import { CallPage } from "./call-page.tsx";
import { useUpdates, useWaiting } from "./calls-data.ts";
import type { AboutConsole } from "./document.ts";
import { Action, copy, Toasts } from "./parts.tsx";
import { Play } from "./play.tsx";
import { about, enter, onLocked, post, Refused } from "./server.ts";

const SCREENS = { calls: "Calls", play: "Play" } as const;
type Screen = keyof typeof SCREENS;

/** The parts of the address after `#/`, and its query. */
function useAddress(): { path: string[]; query: URLSearchParams } {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { path: path.split("/").filter(Boolean), query: new URLSearchParams(query) };
}

function App({ facts }: { facts: AboutConsole }) {
  const { path, query } = useAddress();
  const updates = useUpdates();
  const waiting = useWaiting(updates);
  const [given, ...rest] = path;
  // A newcomer has no calls yet, and starts with Play.
  const screen: Screen = given === "calls" ? "calls" : "play";
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    document.title = `${SCREENS[screen]} · ${facts.server.title ?? facts.server.name}`;
  }, [screen]);
  return (
    <div class="shell">
      <header class="side">
        <span class="brand">
          <Logo />
          <span>
            Parley <small>console</small>
          </span>
        </span>
        <nav aria-label="Console">
          {(Object.keys(SCREENS) as Screen[]).map((one) => (
            <a key={one} href={`#/${one}`} aria-current={one === screen ? "page" : undefined}>
              {SCREENS[one]}
              {one === "calls" && waiting > 0 && (
                <span class="count">
                  {waiting}
                  <span class="sr">waiting</span>
                </span>
              )}
            </a>
          ))}
        </nav>
        <Foot facts={facts} />
      </header>
      <main ref={main} tabIndex={-1}>
        {screen === "play"
          ? <Play about={facts} path={rest} />
          : rest[0] === undefined
          ? <CallList query={query} updates={updates} />
          : <CallPage key={rest[0]} id={decodeURIComponent(rest[0])} about={facts} />}
      </main>
      <Toasts />
    </div>
  );
}

function Logo() {
  return (
    <svg width="22" height="22" viewBox="0 0 24 24" fill="none" aria-hidden="true">
      <path
        d="M4 5.5A2.5 2.5 0 0 1 6.5 3h11A2.5 2.5 0 0 1 20 5.5v8a2.5 2.5 0 0 1-2.5 2.5H12l-5 4.5V16h-.5A2.5 2.5 0 0 1 4 13.5z"
        stroke="currentColor"
        stroke-width="2"
        stroke-linejoin="round"
      />
      <path d="M9.5 7v5M14.5 7v5" stroke="currentColor" stroke-width="2" stroke-linecap="round" />
    </svg>
  );
}

const THEMES = ["system", "light", "dark"] as const;
const THEME = "parley-console-theme";

function Foot({ facts: { server, visitor } }: { facts: AboutConsole }) {
  const [theme, setTheme] = useState(localStorage.getItem(THEME) ?? "system");
  useEffect(() => {
    localStorage.setItem(THEME, theme);
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme as "light") + 1) % THEMES.length]!;
  const link = async () => {
    const { link } = await post<{ link: string }>("link");
    await copy(new URL(link.replace(/^\//, ""), location.href).href, "A link for another tab");
  };
  return (
    <div class="foot">
      <span class="about">
        {server.title ?? server.name} {server.version}
        <br />
        {visitor.signedIn ? visitor.name : "opened by link"}
        {!visitor.mayAct && ", read only"}
      </span>
      {!visitor.signedIn && (
        <span class="about">
          <Action run={link}>Copy a link</Action>
        </span>
      )}
      <button type="button" onClick={() => setTheme(next)}>Theme: {theme}</button>
    </div>
  );
}

/** Shown to a visitor without a valid token. */
function Closed({ error }: { error: Error }) {
  const isRefused = error instanceof Refused;
  return (
    <main class="gate">
      <div class="card">
        <span class="brand">
          <Logo /> Parley console
        </span>
        <h1>{isRefused ? "The console is locked" : "The console cannot be loaded"}</h1>
        <p>
          {isRefused
            ? "Open it with the link that the terminal of the server prints. Each link works once."
            : error.message}
        </p>
        <p class="note">
          <a href="console/sign-in">Sign in</a> instead, if the server supports it.
        </p>
      </div>
    </main>
  );
}

const app = document.querySelector("#app")!;
app.replaceChildren();
enter().then(about).then(
  (facts) => {
    onLocked((error) => render(<Closed error={error} />, app));
    render(<App facts={facts} />, app);
  },
  (error) => render(<Closed error={error} />, app),
);
