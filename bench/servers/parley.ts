/** Parley over HTTP, as `parley serve` runs it. */
import { listen } from "../../src/platform/listen.ts";
import { createParley } from "../../src/mod.ts";
import { serve } from "./tools.ts";

const parley = createParley({ serve, localOnly: true });
const { port } = await listen(parley.fetch, { port: 0, hostname: "127.0.0.1" });
console.log(port);
