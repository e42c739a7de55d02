import { listen as listenHere } from "../../src/platform/listen.ts";
import { listen as listenWithNode } from "../../src/platform/node.ts";
import { currentRuntime } from "../harness/toolchain.ts";
import { describe } from "../suite.ts";
import { hostCases } from "./cases.ts";

describe(`listen() on ${currentRuntime()}`, () => hostCases(listenHere));

describe("listen() with Node's http", () => hostCases(listenWithNode));
