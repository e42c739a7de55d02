/** Who is at the other end of a connection, as the runtime that serves it says. */

interface DenoInfo {
  readonly remoteAddr?: { readonly hostname?: unknown };
}

interface BunServer {
  requestIP?(request: Request): { readonly address: string } | null;
}

/**
 * The address of the peer. `connection` is whatever came beside the request: Deno's
 * info, Bun's server, or what `toNodeHandler` hands over.
 */
export function peerOf(request: Request, connection: unknown): string | undefined {
  if (typeof connection !== "object" || connection === null) return undefined;
  if (typeof (connection as BunServer).requestIP === "function") {
    return (connection as Required<BunServer>).requestIP(request)?.address;
  }
  const hostname = (connection as DenoInfo).remoteAddr?.hostname;
  return typeof hostname === "string" ? hostname : undefined;
}
