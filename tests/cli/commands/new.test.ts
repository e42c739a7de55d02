import { describe } from "../../suite.ts";
import { projectCases } from "./project-cases.ts";

describe("parley new", () => projectCases());
