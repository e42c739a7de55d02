/**
 * Which fields of a form must not be echoed. MCP has no word for it, so it is told
 * in the request's `_meta`, for the clients that know; our own does.
 */
export const SENSITIVE = "parley-mcp/sensitive";

export function sensitiveMeta(fields: readonly string[] = []): { _meta?: object } {
  return fields.length > 0 ? { _meta: { [SENSITIVE]: fields } } : {};
}
