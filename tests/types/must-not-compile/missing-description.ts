// expect-error: is not assignable to parameter of type '"description() is missing: the model chooses tools by it"'
import { createMcpTool } from "../../../src/mod.ts";

createMcpTool("t").execute(function* () {});
