import { describe } from "../suite.ts";
import { fromSource } from "../support/program.ts";
import { clientCases } from "./client-cases.ts";

describe("parley stdio", () => clientCases(fromSource));
