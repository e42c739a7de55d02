/** A parameter that clients repeat in a header, `Mcp-Param-<name>`, for whoever routes requests. */
export interface HeaderParameter {
  readonly name: string;
  /** Where it stands in the arguments. */
  readonly path: readonly string[];
}
