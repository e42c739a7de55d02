/** A minimal HTTP server: the runtime only parses the body and answers JSON. */
import { listen } from "../../src/platform/listen.ts";

const fetch = async (request: Request) => {
  const { id, params } = await request.json();
  const { a, b } = params.arguments;
  const result = { content: [{ type: "text", text: String(a + b) }] };
  return new Response(JSON.stringify({ jsonrpc: "2.0", id, result }), {
    headers: { "content-type": "application/json" },
  });
};
const { port } = await listen(fetch, { port: 0, hostname: "127.0.0.1" });
console.log(port);
