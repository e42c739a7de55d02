/** The official clients over stdio: each starts its own program. */
import type * as v2 from "@modelcontextprotocol/client";
import { StdioClientTransport as V2Transport } from "@modelcontextprotocol/client/stdio";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { connectV1Over, connectV2Over, type Official } from "./official-clients.ts";
import type { Start } from "./program.ts";

/** The client of the legacy revisions. */
export async function startV1(start: Start): Promise<Official> {
  let version: string | undefined;
  const transport = new StdioClientTransport(parameters(start));
  Object.assign(transport, { setProtocolVersion: (agreed: string) => version = agreed });
  return await connectV1Over(transport, () => version);
}

/** The client of all revisions. */
export async function startV2(start: Start, mode: v2.VersionNegotiationMode): Promise<Official> {
  return await connectV2Over(new V2Transport(parameters(start)), mode);
}

function parameters([command, ...args]: Start) {
  return { command, args, stderr: "ignore" as const };
}
