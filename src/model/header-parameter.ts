/** A parameter that clients repeat in a header, `Mcp-Param-<name>`, for routers and proxies. */
export interface HeaderParameter {
  readonly name: string;
  /** The path of the parameter in the arguments. */
  readonly path: readonly string[];
}
