/**
 * The HTML of views that ask questions: the default view, and views that draw questions themselves.
 */
import { VIEW_SCRIPT } from "./built.ts";
import { escaped } from "./form-html.ts";
import { STYLE } from "./style.ts";

/** The parts of a view that its author can change. */
export interface AskingViewOptions {
  /** The title of the document. Default: `Question`. */
  readonly title?: string;
  /** CSS, in addition to the common stylesheet. */
  readonly style?: string;
  /**
   * JavaScript that sets `globalThis.parley = { question, result }`. `question(question, answer)`
   * returns a node to show instead of the form, and calls `answer(content)`; `result(result)`
   * returns a node to show at the end. Either can return undefined for the default.
   */
  readonly script?: string;
}

/**
 * Returns the HTML of a view that shows the questions of a call, for hosts with MCP Apps. Every
 * tool that asks questions has such a view by default. Use this function to draw questions in
 * another way.
 *
 * @example
 * ```ts
 * import { askingView } from "parley-mcp";
 *
 * const html = askingView({
 *   script: `globalThis.parley = {
 *     question({ message }, answer) {
 *       const button = document.createElement("button");
 *       button.textContent = message;
 *       button.onclick = () => answer({ yes: true });
 *       return button;
 *     },
 *   };`,
 * });
 * ```
 */
export function askingView(
  { title = "Question", style = "", script }: AskingViewOptions = {},
): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title><style>${STYLE}${style}</style></head>
<body class="view"><main></main>
${script === undefined ? "" : `<script>${script.replaceAll("</script", "<\\/script")}</script>`}
<script type="module">${VIEW_SCRIPT}</script></body></html>
`;
}
