/** The network address of a client, as the runtime reports it. */

interface DenoInfo {
  readonly remoteAddr?: { readonly hostname?: unknown };
}

interface BunServer {
  requestIP?(request: Request): { readonly address: string } | null;
}

/**
 * The address of the peer. `connection` is the second argument of the fetch handler: Deno's info,
 * Bun's server, or the object from `toNodeHandler`.
 */
export function peerOf(request: Request, connection: unknown): string | undefined {
  if (typeof connection !== "object" || connection === null) return undefined;
  if (typeof (connection as BunServer).requestIP === "function") {
    return (connection as Required<BunServer>).requestIP(request)?.address;
  }
  const hostname = (connection as DenoInfo).remoteAddr?.hostname;
  return typeof hostname === "string" ? hostname : undefined;
}
