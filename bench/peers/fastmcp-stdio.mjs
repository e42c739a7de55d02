/** fastmcp over stdio. */
import { makeServer } from "./fastmcp-tools.mjs";

await makeServer().start({ transportType: "stdio" });
