/** Serves a game over stdin and stdout. The coin, and the doors, are arguments. Run by a test. */
import process from "node:process";
import { createParley, type Door } from "parley-mcp";
import { createPlayTtt } from "../../../tools/play_ttt.ts";

const toss = Number(process.argv[2]);
const doors = process.argv.slice(3) as Door[];
const options = doors.length > 0 ? { doors } : {};
const parley = createParley({ serve: [createPlayTtt(() => toss)], ...options });
await parley.stdio();
await parley.close();
process.exit(0);
