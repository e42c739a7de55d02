import assert from "node:assert/strict";
import { exportsOf } from "./harness/exports.ts";
import { readText } from "./harness/files.ts";
import { describe, it } from "./suite.ts";

/**
 * Everything that users may import: a change here is a change of the public
 * surface. To update it, paste what the failing test prints.
 */
const surface: string[] = [
  "CapabilityError",
  "DefinitionError",
  "ElicitationError",
  "EventsGoneError",
  "InMemoryToolSessionStore",
  "McpToolDepthError",
  "McpToolTimeoutError",
  "McpToolTokenError",
  "PageError",
  "ParleyError",
  "ProtocolError",
  "RegistryClosedError",
  "SampleError",
  "SampleValidationError",
  "Sealer",
  "SessionGoneError",
  "SessionHaltedError",
  "SessionLimitError",
  "SessionNotContinuedError",
  "SessionSealedError",
  "SessionSetAsideError",
  "StoreConflictError",
  "StoreError",
  "ToolError",
  "ToolSessionRegistryContext",
  "ToolSessionStoreContext",
  "askingView",
  "closeToolCalls",
  "createManualClock",
  "createMcpHandler",
  "createMcpPrompt",
  "createMcpResource",
  "createMcpTool",
  "createParley",
  "createSamplingProvider",
  "openStore",
  "samplingFromEnvironment",
  "testTool",
  "toNodeHandler",
  "type AnswerOutcome",
  "type AppendChange",
  "type AppendCondition",
  "type AskingViewOptions",
  "type AudioContent",
  "type AuthOptions",
  "type CallResult",
  "type Claim",
  "type ClientCapabilities",
  "type ClientInfo",
  "type ClientSessionRecord",
  "type ClientSessionStore",
  "type Clock",
  "type CloseOptions",
  "type ContentAnnotations",
  "type ContentBlock",
  "type Definition",
  "type Durability",
  "type ElicitAnswer",
  "type ElicitContext",
  "type ElicitDefinition",
  "type ElicitExchange",
  "type ElicitOptions",
  "type ElicitRequest",
  "type ElicitRequestMessage",
  "type ElicitResponse",
  "type ElicitResponseMessage",
  "type ElicitResult",
  "type ElicitTimeout",
  "type ElicitUrlConfig",
  "type ElicitUrlResult",
  "type ElicitsMap",
  "type EmbeddedResource",
  "type EndedCall",
  "type Fault",
  "type FinalizedMcpPrompt",
  "type FinalizedMcpResource",
  "type FinalizedMcpTool",
  "type FinalizedMcpToolWithElicits",
  "type FullToolResult",
  "type Icon",
  "type ImageContent",
  "type Infer",
  "type InferInput",
  "type IssuerOptions",
  "type JsonObject",
  "type LazyDefinitions",
  "type LogLevel",
  "type ManualClock",
  "type McpHandler",
  "type McpMessage",
  "type McpMessageInput",
  "type McpPromptBuilder",
  "type McpResourceBuilder",
  "type McpToolBranchOptions",
  "type McpToolBuilder",
  "type McpToolContext",
  "type McpToolContextWithElicits",
  "type McpToolHandoffConfig",
  "type McpToolLimits",
  "type McpToolRequirements",
  "type McpToolSampleConfig",
  "type McpToolServerContext",
  "type McpToolTask",
  "type McpToolView",
  "type MessageContent",
  "type ModelPreferences",
  "type NarrowedElicitOptions",
  "type OutputReturn",
  "type Page",
  "type PageOptions",
  "type Parley",
  "type ParleyErrorCode",
  "type ParleyLimits",
  "type ParleyOptions",
  "type Principal",
  "type PrincipalOf",
  "type PromptResult",
  "type QueryContext",
  "type RegistryLimits",
  "type RegistryOptions",
  "type RequestFailure",
  "type RequiredScopes",
  "type ResourceContents",
  "type ResourceLink",
  "type ResourceResult",
  "type RpcError",
  "type SampleAnswerer",
  "type SampleConfigBase",
  "type SampleConfigPlain",
  "type SampleConfigWithSchema",
  "type SampleConfigWithTools",
  "type SampleExchange",
  "type SampleInput",
  "type SampleMessages",
  "type SampleParams",
  "type SamplePrompt",
  "type SampleRequest",
  "type SampleResponse",
  "type SampleResult",
  "type SampleResultBase",
  "type SampleResultWithParsed",
  "type SampleResultWithToolCalls",
  "type SampleSchemaConfig",
  "type SampleSchemaConfigMessages",
  "type SampleSchemaResult",
  "type SampleToolsConfig",
  "type SampleToolsConfigMessages",
  "type SampleToolsResult",
  "type SamplingProvider",
  "type SamplingProviderConfig",
  "type SamplingSetup",
  "type SamplingToolCall",
  "type SamplingToolChoice",
  "type SamplingToolDefinition",
  "type SchemaInput",
  "type ScopeList",
  "type ScopeOptions",
  "type Scripted",
  "type ScriptedElicit",
  "type ScriptedSample",
  "type ScriptedTurn",
  "type ServerInfo",
  "type ServerSite",
  "type SetAsideCall",
  "type SetAsideCalls",
  "type SqliteStores",
  "type Stdio",
  "type TextContent",
  "type TokenProfile",
  "type ToolAnnotations",
  "type ToolCall",
  "type ToolCallOf",
  "type ToolDefinition",
  "type ToolEnvironment",
  "type ToolResult",
  "type ToolResultContent",
  "type ToolReturn",
  "type ToolScript",
  "type ToolSession",
  "type ToolSessionEntry",
  "type ToolSessionEvent",
  "type ToolSessionOptions",
  "type ToolSessionOutcome",
  "type ToolSessionRegistry",
  "type ToolSessionRequest",
  "type ToolSessionStatus",
  "type ToolSessionStore",
  "type ToolTestRun",
  "type ToolUseContent",
  "type ToolVisibility",
  "type TraceContext",
  "type ViewInput",
  "type ViewSources",
  "type Wake",
  "useParley",
  "useToolSessionRegistry",
];

describe("src/mod.ts", () => {
  it("exports exactly the pinned names", () => {
    const now = exportsOf(readText("src/mod.ts"));
    assert.deepEqual(now, surface, `The surface is now:\n${JSON.stringify(now, null, 2)}`);
  });

  it("has at run time the values that its source names", async () => {
    const values = exportsOf(readText("src/mod.ts")).filter((name) => !name.startsWith("type "));
    assert.deepEqual(Object.keys(await import("../src/mod.ts")).sort(), values);
  });
});

describe("every error of src/model/errors.ts", () => {
  it("is exported, and has a name and a class that end in Error", async () => {
    const errors = exportsOf(readText("src/model/errors.ts"))
      .filter((name) => !name.startsWith("type "));
    const values: Record<string, unknown> = await import("../src/mod.ts");
    assert.deepEqual(errors.filter((name) => !(name in values)), []);
    assert.deepEqual(errors.filter((name) => !/^[A-Z]\w+Error$/.test(name)), []);
  });
});

describe("exportsOf()", () => {
  it("reads lists, renamed names, types and declarations", () => {
    assert.deepEqual(
      exportsOf(`
        // export { hidden } from "./x.ts";
        import { nothing } from "./nothing.ts";
        export { b, type C, d as e, type F as G } from "./a.ts";
        export type { H, I as J } from "./a.ts";
        export const k = 1;
        export function* l() {}
        export async function m() {}
        export abstract class N {}
        export interface O {}
        export type P = string;
      `),
      [
        "N",
        "b",
        "e",
        "k",
        "l",
        "m",
        "type C",
        "type G",
        "type H",
        "type J",
        "type O",
        "type P",
      ],
    );
  });

  it("refuses what hides a name", () => {
    assert.throws(() => exportsOf(`export * from "./a.ts";`), /name what it exports/);
    assert.throws(() => exportsOf(`export default 1;`), /name what it exports/);
  });
});
