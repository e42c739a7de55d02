/** fastmcp over HTTP, which it serves by itself. It needs a port, so a free one is chosen. */
import { createServer } from "node:net";
import { makeServer } from "./fastmcp-tools.mjs";

const port = await new Promise((resolve) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});
await makeServer().start({ transportType: "httpStream", httpStream: { port, host: "127.0.0.1" } });
console.log(port);
