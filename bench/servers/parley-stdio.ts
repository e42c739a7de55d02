/** Parley over stdio. */
import { createParley } from "../../src/mod.ts";
import { serve } from "./tools.ts";

await createParley({ serve }).stdio();
