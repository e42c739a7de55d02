/** Serves a game over stdin and stdout; the coin is an argument. Run by a test. */
import process from "node:process";
import { createParley } from "parley-mcp";
import { createPlayTtt } from "../../../tools/play_ttt.ts";

const toss = Number(process.argv[2]);
const parley = createParley({ serve: [createPlayTtt(() => toss)] });
await parley.stdio();
await parley.close();
process.exit(0);
