/** The MIME types of files, by extension and content. */

const TYPES: { readonly [extension: string]: string | undefined } = {
  __proto__: null as never,
  md: "text/markdown",
  txt: "text/plain",
  csv: "text/csv",
  html: "text/html",
  css: "text/css",
  js: "text/javascript",
  mjs: "text/javascript",
  ts: "text/x-typescript",
  py: "text/x-python",
  sh: "text/x-shellscript",
  json: "application/json",
  yaml: "application/yaml",
  yml: "application/yaml",
  toml: "application/toml",
  xml: "application/xml",
  svg: "image/svg+xml",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
  zip: "application/zip",
};

/** The type of a file. A file with an unknown extension is plain text if its bytes are UTF-8. */
export function mimeTypeOf(path: string, bytes: Uint8Array): string {
  const [, extension = ""] = /\.([^./]+)$/.exec(path) ?? [];
  const known = TYPES[extension.toLowerCase()];
  return known ?? (textOf(bytes) === undefined ? "application/octet-stream" : "text/plain");
}

/** The text of UTF-8 bytes. Undefined if the bytes are not text. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}
