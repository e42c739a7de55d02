/**
 * Whole pages for a browser. They have no `style` attributes and no event handlers in HTML, so that
 * a strict Content-Security-Policy can name the stylesheet and the script by their digests.
 */
import { escaped } from "./form-html.ts";
import { STYLE } from "./style.ts";

export interface PageParts {
  readonly title: string;
  /** HTML of the main part. */
  readonly body: string;
  /** Where the script asks for changes, and what it does after a change; see page-script.ts. */
  readonly watch?: { readonly url: string; readonly how: "reload" | "tell" };
  /** The page's script. Default: none. */
  readonly script?: string;
}

/** Seconds after which a browser without scripts reloads the page. */
const LOOK_AGAIN = 5;

export function pageHtml({ title, body, watch, script }: PageParts): string {
  const watching = watch ? ` data-watch="${escaped(watch.url)}" data-how="${watch.how}"` : "";
  const again = watch?.how === "reload"
    ? `<noscript><meta http-equiv="refresh" content="${LOOK_AGAIN}"></noscript>`
    : "";
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">${again}
<title>${escaped(title)}</title><style>${STYLE}</style></head>
<body class="page"${watching}><main>
${body}
</main>${script ? `<script type="module">${script}</script>` : ""}</body>
</html>
`;
}
