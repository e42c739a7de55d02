/**
 * A parameter that clients also send as an HTTP header, `Mcp-Param-<name>`, so that proxies can
 * route by it.
 */
export interface HeaderParameter {
  readonly name: string;
  /** The property names that lead to the parameter in the arguments. */
  readonly path: readonly string[];
}
