/** Version 2 of the official SDK over stdio. */
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { makeServer } from "./v2-tools.mjs";

await makeServer().connect(new StdioServerTransport());
