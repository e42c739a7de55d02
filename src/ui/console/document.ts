/**
 * The documents of the console: its page, and the empty frame in which the page draws the views of
 * tools.
 */

/** The data about the server and the visitor that the page shows. */
export interface AboutConsole {
  readonly server: { readonly name: string; readonly version: string; readonly title?: string };
  readonly visitor: {
    readonly name: string;
    /** False if the visitor may only look. */
    readonly mayAct: boolean;
    /** True if the visitor signed in, false if a link was opened. */
    readonly signedIn: boolean;
  };
  /** True if MCP requests need an access token. */
  readonly needsToken: boolean;
  /** True if the server has a language model that answers sampling requests. */
  readonly hasModel: boolean;
  /** The path of the MCP endpoint. */
  readonly mcp: string;
}

/** The page. It contains no data: the script loads what it shows. */
export function consoleHtml(script: string, style: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>Parley console</title>
<link rel="icon" href="data:,"><style>${style}</style></head>
<body><div id="app"><noscript>The console needs JavaScript.</noscript></div>
<script type="module">${script}</script></body>
</html>
`;
}

/**
 * A frame without content. Its policy differs from that of the page, which a document without a URL
 * would inherit. It waits for the HTML of a view, and becomes that view.
 */
export const FRAME_HTML = `<!doctype html><html lang="en"><meta charset="utf-8"><title>View</title>
<script>
addEventListener("message", ({ source, data }) => {
  if (source !== parent || typeof data?.view !== "string") return;
  document.open();
  document.write(data.view);
  document.close();
});
parent.postMessage({ frame: "ready" }, "*");
</script></html>
`;
