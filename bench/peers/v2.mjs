/** Version 2 of the official SDK over HTTP, as in its documentation. */
import { createMcpHandler } from "@modelcontextprotocol/server";
import { serve } from "./listen.mjs";
import { makeServer } from "./v2-tools.mjs";

const handler = createMcpHandler(makeServer);
serve((request) => handler.fetch(request));
