/** Version 1 of the official SDK over HTTP, with sessions, as in its examples. */
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { serve } from "./listen.mjs";
import { makeServer } from "./v1-tools.mjs";

const transports = new Map();

serve(async (request) => {
  const id = request.headers.get("mcp-session-id");
  const known = id === null ? undefined : transports.get(id);
  if (known) return known.handleRequest(request);
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => crypto.randomUUID(),
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  await makeServer().connect(transport);
  return transport.handleRequest(request);
});
