import { describe } from "../../suite.ts";
import { fromSource } from "../../support/program.ts";
import { inspectorCases, officialCases } from "./client-cases.ts";

describe("parley stdio", () => {
  officialCases(fromSource);
  inspectorCases(fromSource);
});
