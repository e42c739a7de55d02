// An app on Node, as a user would write it; the test puts it beside the built package.
import { sleep, suspend } from "effection";
import { createServer } from "node:http";
import { createMcpTool, createParley, toNodeHandler } from "parley-mcp";
import { z } from "zod";
import { planTrip } from "./multi-round-tool.ts";

const echo = createMcpTool("echo").description("Says it again.")
  .parameters(z.object({ text: z.string() }))
  .execute(function* ({ text }) {
    return text;
  });

const stubborn = createMcpTool("stubborn").description("Waits for ever.")
  .execute(function* () {
    try {
      yield* suspend();
    } finally {
      yield* sleep(0);
      console.error("stubborn has cleaned up");
    }
  });

const parley = createParley({ serve: [echo, planTrip, stubborn] });
const server = createServer(toNodeHandler(parley.fetch));
server.listen(0, "127.0.0.1", () => {
  console.error(`http://127.0.0.1:${server.address().port}/mcp on Node ${process.version}`);
});
process.on("SIGTERM", async () => {
  await parley.close();
  server.close();
  server.closeAllConnections();
});
