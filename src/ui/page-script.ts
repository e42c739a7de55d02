/// <reference lib="dom" />
/**
 * The script of the asking page. The page also works without it. The script fills in the person's
 * time zone, and notices when the question on the page is no longer open.
 */

import { fillZones } from "./zones.ts";

fillZones(document);

const { watch: url, how } = document.body.dataset;

/**
 * Asks the server for changes. Each request waits on the server until something changes, or for
 * half a minute at most.
 */
async function watch(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(url, { headers: { accept: "application/json" } });
    // The page keeps the input of the person, who signs in in another tab.
    const isSignedOut = response.status === 401 && how === "tell";
    tellSignIn(isSignedOut);
    if (isSignedOut) {
      await pause(2_000);
      continue;
    }
    // If the page was closed or the server failed, the page is out of date too.
    if (!response.ok || (await response.json()).changed === true) return;
    await pause(500);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Shows or hides the request to sign in again. */
function tellSignIn(isNeeded: boolean): void {
  const note = document.querySelector<HTMLElement>("#closed");
  if (!note || isNeeded === (note.dataset.signIn !== undefined)) return;
  note.replaceChildren();
  delete note.dataset.signIn;
  if (!isNeeded) return;
  note.dataset.signIn = "";
  const link = document.createElement("a");
  link.href = location.pathname;
  link.target = "_blank";
  link.append("Sign in again");
  note.append(link, ", then return to this page and send your answer.");
}

if (url) {
  watch(url).then(() => {
    if (how === "reload") return location.replace(location.pathname + location.search);
    for (const button of document.querySelectorAll("button")) button.disabled = true;
    const note = document.querySelector<HTMLElement>("#closed")!;
    note.append("This question is no longer open: it was answered elsewhere, or withdrawn. ");
    const link = document.createElement("a");
    link.href = location.pathname;
    link.append("See what is next");
    note.append(link);
  }, () => {/* The server cannot be reached. The person notices when they answer. */});
}
