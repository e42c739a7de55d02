/** The public API of Parley. Code that is not exported here is internal. */

export { createMcpHandler, createParley, useParley } from "./parley.ts";
export type {
  CallChange,
  CallDetail,
  CallEvents,
  CallEventWindow,
  CallFilter,
  CallPage,
  CallQuestion,
  CallState,
  CallSummary,
  DryReplay,
  DryReplayStep,
  OperatorAnswer,
} from "./model/calls.ts";
export type { Parley } from "./parley.ts";
export { defineConfig } from "./cli/config.ts";
export type { ParleyConfig } from "./cli/config.ts";
export { toNodeHandler } from "./platform/node.ts";
export type { Stdio } from "./transport/types.ts";
export type {
  AccessRefusal,
  AuthOptions,
  IssuerOptions,
  SignInOptions,
  TokenProfile,
} from "./server/access.ts";
export type { Claim, Principal } from "./model/principal.ts";
export type { LazyDefinitions } from "./server/lazy-catalog.ts";
export type {
  ConsoleOptions,
  ParleyLimits,
  ParleyOptions,
  PrincipalOf,
  ServerInfo,
} from "./server/options.ts";
export type { CloseOptions, McpHandler } from "./transport/http/handler.ts";
export { createMcpPrompt } from "./tool/prompt.ts";
export type { McpPromptBuilder } from "./tool/prompt.ts";
export { createMcpResource } from "./tool/resource.ts";
export type { McpResourceBuilder, UriVariables } from "./tool/resource.ts";
export { createMcpSkill } from "./tool/skill.ts";
export type {
  FinalizedMcpSkill,
  McpSkillBuilder,
  McpSkillFile,
  McpSkillFrontMatter,
  Served,
} from "./tool/skill.ts";
export { readMcpSkills } from "./skills/folder.ts";
export { createMcpTool } from "./tool/builder.ts";
export type {
  McpToolBuilder,
  McpToolDescribed,
  McpToolDraft,
  McpToolDraftAfter,
  McpToolFinalized,
  McpToolOnce,
  NewMcpToolDraft,
} from "./tool/builder.ts";
export type {
  Completer,
  Definition,
  ElicitAnswer,
  ElicitContext,
  ElicitDefinition,
  ElicitsMap,
  FinalizedMcpPrompt,
  FinalizedMcpResource,
  FinalizedMcpTool,
  FinalizedMcpToolWithElicits,
  FullToolResult,
  ListedResource,
  McpToolContext,
  McpToolContextFor,
  McpToolContextWithElicits,
  McpToolHandoffConfig,
  McpToolServerContext,
  OutputReturn,
  PromptArgument,
  PromptReturn,
  QueryContext,
  ResourceLister,
  ResourceReturn,
  ToolBody,
  ToolReturn,
} from "./tool/types.ts";
export type {
  McpToolBranchOptions,
  McpToolDurability,
  McpToolLimits,
  McpToolRequirements,
  McpToolTask,
  RequiredScopes,
  ScopeList,
  ScopeOptions,
  ToolAnnotations,
} from "./tool/settings.ts";
export type { McpToolView, ToolVisibility, ViewInput, ViewSources } from "./tool/view.ts";
export { escapeHtml, formHtml, htmlPage, readPostedForm } from "./server/html-page.ts";
export type { HtmlPageOptions, PageForm, PageFormState, PostedForm } from "./server/html-page.ts";
export type { Entered, FormProblem } from "./ui/form.ts";
export { askingView } from "./ui/view-html.ts";
export type { AskingViewOptions } from "./ui/view-html.ts";
export type { Page, PageOptions, ServerSite, ToolEnvironment } from "./tool/site.ts";
export type {
  AnsweredBy,
  ElicitExchange,
  ElicitForm,
  ElicitOptions,
  ElicitRequestMessage,
  ElicitResponseMessage,
  ElicitResult,
  ElicitTimeout,
  ElicitUrlConfig,
  ElicitUrlResult,
  NarrowedElicitOptions,
  Narrower,
} from "./tool/elicit-types.ts";
export { closeToolCalls } from "./ask/messages.ts";
export type {
  McpToolSampleConfig,
  SampleAnswerer,
  SampleConfigBase,
  SampleConfigPlain,
  SampleConfigWithSchema,
  SampleConfigWithTools,
  SampleExchange,
  SampleInput,
  SampleMessages,
  SamplePrompt,
  SampleResult,
  SampleResultBase,
  SampleResultWithParsed,
  SampleResultWithToolCalls,
  SampleRetries,
  SampleSchemaConfig,
  SampleSchemaConfigMessages,
  SampleSchemaResult,
  SampleToolsConfig,
  SampleToolsConfigMessages,
  SampleToolsResult,
  SamplingToolCall,
  SamplingToolChoice,
  SamplingToolDefinition,
  ToolCall,
  ToolCallOf,
  ToolDefinition,
} from "./tool/sample-types.ts";
export { createSamplingProvider, samplingFromEnvironment } from "./sampling/config.ts";
export type { EnvironmentVariables, SamplingProviderConfig } from "./sampling/config.ts";
export type { SamplingProvider } from "./sampling/provider.ts";
export type {
  AudioContent,
  ContentAnnotations,
  ContentBlock,
  ContentBlockBase,
  EmbeddedResource,
  Icon,
  ImageContent,
  JsonObject,
  McpMessage,
  McpMessageInput,
  MessageContent,
  ResourceContents,
  ResourceLink,
  TextContent,
  ToolResultContent,
  ToolUseContent,
} from "./model/content.ts";
export type {
  AnswerBody,
  AnswerOutcome,
  AnswerVia,
  BegunEvent,
  CallResult,
  ClientAnswer,
  ClientCapabilities,
  ClientInfo,
  Door,
  ElicitFormParams,
  ElicitRequest,
  ElicitResponse,
  ElicitUrlParams,
  EventBody,
  FactEvent,
  LogLevel,
  ModelPreferences,
  Place,
  PromptMessage,
  PromptResult,
  RequestFailure,
  ResourceResult,
  Root,
  RootsRequest,
  RootsResponse,
  RpcError,
  SampleParams,
  SampleRequest,
  SampleResponse,
  SampleVia,
  ToolResult,
  ToolSessionEvent,
  ToolSessionOutcome,
  ToolSessionRequest,
  ToolSessionRequestBase,
  ToolSessionStatus,
  TraceContext,
  WithdrawalReason,
} from "./model/events.ts";
export {
  CallActionError,
  CapabilityError,
  DefinitionError,
  ElicitationError,
  EventsGoneError,
  McpToolDepthError,
  McpToolTimeoutError,
  McpToolTokenError,
  PageError,
  ParleyError,
  ProtocolError,
  RegistryClosedError,
  SampleError,
  SampleValidationError,
  SessionGoneError,
  SessionHaltedError,
  SessionLimitError,
  SessionNotContinuedError,
  SessionSealedError,
  SessionSetAsideError,
  StoreConflictError,
  StoreError,
  ToolError,
} from "./model/errors.ts";
export type { ParleyErrorCode } from "./model/errors.ts";
export type {
  Infer,
  InferInput,
  JsonSchemaObject,
  JsonSchemaType,
  ParseOutcome,
  Schema,
  SchemaInput,
  SchemaIssue,
} from "./schema/types.ts";
export { ToolSessionRegistryContext, ToolSessionStoreContext } from "./registry/use-registry.ts";
export { useToolSessionRegistry } from "./registry/use-registry.ts";
export type { FindDefinition, RegistryLimits, RegistryOptions } from "./registry/options.ts";
export { Sealer } from "./lib/sealer.ts";
export type {
  AnsweredQuestion,
  AskedQuestion,
  EndedCall,
  OperatorCalls,
  ToolSession,
  ToolSessionOptions,
  ToolSessionRegistry,
} from "./session/types.ts";
export type { Clock } from "./lib/clock.ts";
export type { Fault, Middleware, MiddlewareCall, SamplingSetup } from "./run/run-port.ts";
export { InMemoryToolSessionStore } from "./store/memory.ts";
export { openStore } from "./store/open.ts";
export type { SqliteStores } from "./store/sqlite/stores.ts";
export type { Durability } from "./store/sqlite/file.ts";
export type {
  AppendChange,
  AppendCondition,
  ClientSessionPlace,
  ClientSessionRecord,
  ClientSessionStore,
  StoredSession,
  ToolSessionEntry,
  ToolSessionStore,
  Wake,
} from "./store/types.ts";
export { openVault } from "./vault/open.ts";
export type { VaultOptions } from "./vault/open.ts";
export type { Vault, VaultChange } from "./vault/types.ts";
export { VaultError } from "./vault/errors.ts";
export type { VaultProblem } from "./vault/errors.ts";
export { createManualClock } from "./testing/manual-clock.ts";
export type { ManualClock } from "./testing/manual-clock.ts";
export { testTool } from "./testing/test-tool.ts";
export type { ToolTestRun } from "./testing/test-tool.ts";
export type {
  Scripted,
  ScriptedElicit,
  ScriptedSample,
  ScriptedTurn,
  ToolScript,
} from "./testing/script.ts";
export type { UriPattern } from "./tool/uri-pattern.ts";
export type { HeaderParameter } from "./model/header-parameter.ts";
export type { SchemaReader } from "./schema/schema-reader.ts";
