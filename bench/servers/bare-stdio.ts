/** A minimal stdio server: it only parses lines and answers them. */
import process from "node:process";
import { createInterface } from "node:readline";

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, params } = JSON.parse(line);
  const { a, b } = params?.arguments ?? { a: 0, b: 0 };
  const result = { content: [{ type: "text", text: String(a + b) }] };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
});
