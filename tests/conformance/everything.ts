/**
 * Everything that the official conformance suite expects a server to offer,
 * written with the public API like any other module.
 */
import { Buffer } from "node:buffer";
import {
  type ContentBlock,
  createMcpPrompt,
  createMcpResource,
  createMcpTool,
  ProtocolError,
  ToolError,
} from "parley-mcp";
import { all, sleep } from "effection";
import { z } from "zod";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

const image: ContentBlock = { type: "image", data: PNG, mimeType: "image/png" };

// ---------------------------------------------------------------- both eras

export const simpleText = createMcpTool("test_simple_text")
  .description("Returns a simple text")
  .execute(function* () {
    return "This is a simple text response for testing.";
  });

export const imageContent = createMcpTool("test_image_content")
  .description("Returns an image")
  .execute(function* () {
    return [image];
  });

export const audioContent = createMcpTool("test_audio_content")
  .description("Returns a sound")
  .execute(function* () {
    return [{ type: "audio", data: WAV, mimeType: "audio/wav" }];
  });

export const embeddedResource = createMcpTool("test_embedded_resource")
  .description("Returns an embedded resource")
  .execute(function* () {
    return [{
      type: "resource",
      resource: {
        uri: "test://embedded-resource",
        mimeType: "text/plain",
        text: "This is an embedded resource content.",
      },
    }];
  });

export const multipleContent = createMcpTool("test_multiple_content_types")
  .description("Returns a text, an image and a resource")
  .execute(function* () {
    return [
      { type: "text", text: "Multiple content types test:" },
      image,
      {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: JSON.stringify({ test: "data", value: 123 }),
        },
      },
    ];
  });

export const errorHandling = createMcpTool("test_error_handling")
  .description("Always fails")
  .execute(function* () {
    throw new ToolError("This tool intentionally returns an error for testing");
  });

export const withProgress = createMcpTool("test_tool_with_progress")
  .description("Reports its progress")
  .execute(function* (_params, ctx) {
    for (const progress of [0, 50, 100]) {
      yield* ctx.notify(`Completed step ${progress} of 100`, progress, 100);
      yield* sleep(10);
    }
    return "Tool with progress executed successfully";
  });

export const jsonSchema202012 = createMcpTool("json_schema_2020_12_tool")
  .description("Has a schema that uses what JSON Schema 2020-12 brought")
  .parameters({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: {
        $anchor: "addressDef",
        type: "object",
        properties: { street: { type: "string" }, city: { type: "string" } },
      },
    },
    properties: {
      name: { type: "string" },
      address: { $ref: "#/$defs/address" },
      contactMethod: { type: "string", enum: ["phone", "email"] },
      phone: { type: "string" },
      email: { type: "string" },
    },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
    then: { required: ["phone"] },
    else: { required: ["email"] },
    additionalProperties: false,
  })
  .execute(function* (params) {
    return `JSON Schema 2020-12 tool called with: ${JSON.stringify(params)}`;
  });

// ------------------------------------------------------------------- legacy

export const withLogging = createMcpTool("test_tool_with_logging")
  .description("Logs while it runs")
  .execute(function* (_params, ctx) {
    yield* ctx.log("info", "Tool execution started");
    yield* sleep(10);
    yield* ctx.log("info", "Tool processing data");
    yield* sleep(10);
    yield* ctx.log("info", "Tool execution completed");
    return "Tool with logging executed successfully";
  });

export const sampling = createMcpTool("test_sampling")
  .description("Asks the model")
  .parameters(z.object({ prompt: z.string() }))
  .execute(function* ({ prompt }, ctx) {
    const { text } = yield* ctx.sample({ prompt, maxTokens: 100 });
    return `LLM response: ${text}`;
  });

export const elicitation = createMcpTool("test_elicitation")
  .description("Asks the person")
  .parameters(z.object({ message: z.string() }))
  .elicits({
    user: {
      response: z.object({
        username: z.string().describe("User's response"),
        email: z.string().describe("User's email address"),
      }),
    },
  })
  .execute(function* ({ message }, ctx) {
    const { action, ...rest } = yield* ctx.elicit("user", { message });
    return `User response: action: ${action}, content: ${
      JSON.stringify("content" in rest ? rest.content : {})
    }`;
  });

export const elicitationDefaults = createMcpTool("test_elicitation_sep1034_defaults")
  .description("Asks with default values")
  .elicits({
    defaults: {
      response: z.object({
        name: z.string().default("John Doe"),
        age: z.int().default(30),
        score: z.number().default(95.5),
        status: z.enum(["active", "inactive", "pending"]).default("active"),
        verified: z.boolean().default(true),
      }),
    },
  })
  .execute(function* (_params, ctx) {
    const { action, ...rest } = yield* ctx.elicit("defaults", { message: "Review the defaults" });
    return `Elicitation completed: action=${action}, content=${
      JSON.stringify("content" in rest ? rest.content : {})
    }`;
  });

const titled = [
  { const: "value1", title: "First Option" },
  { const: "value2", title: "Second Option" },
  { const: "value3", title: "Third Option" },
];

export const elicitationEnums = createMcpTool("test_elicitation_sep1330_enums")
  .description("Asks with every kind of enum")
  .elicits({
    choices: {
      response: {
        type: "object",
        properties: {
          untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
          titledSingle: { type: "string", oneOf: titled },
          legacyEnum: {
            type: "string",
            enum: ["opt1", "opt2", "opt3"],
            enumNames: ["Option One", "Option Two", "Option Three"],
          },
          untitledMulti: {
            type: "array",
            items: { type: "string", enum: ["option1", "option2", "option3"] },
          },
          titledMulti: { type: "array", items: { anyOf: titled } },
        },
      },
    },
  })
  .execute(function* (_params, ctx) {
    const { action, ...rest } = yield* ctx.elicit("choices", { message: "Choose" });
    return `Elicitation completed: action=${action}, content=${
      JSON.stringify("content" in rest ? rest.content : {})
    }`;
  });

export const reconnection = createMcpTool("test_reconnection")
  .description("Lets the client go and finishes while it is away")
  .execute(function* (_params, ctx) {
    yield* sleep(150);
    yield* ctx.hangUp();
    yield* sleep(100);
    return "Reconnection test completed successfully";
  });

// ------------------------------------------------------------------- modern

export const missingCapability = createMcpTool("test_missing_capability")
  .description("Needs a client that can sample")
  .requires({ sampling: true })
  .execute(function* (_params, ctx) {
    return (yield* ctx.sample({ prompt: "Say something" })).text;
  });

export const streamingElicitation = createMcpTool("test_streaming_elicitation")
  .description("Streams, and asks nothing")
  .execute(function* (_params, ctx) {
    yield* ctx.notify("working", 1, 1);
    return "Streamed";
  });

export const loggingTool = createMcpTool("test_logging_tool")
  .description("Logs, to those who asked for it")
  .execute(function* (_params, ctx) {
    yield* ctx.log("info", "A log message");
    return "Logged";
  });

export const triggerToolChange = createMcpTool("test_trigger_tool_change")
  .description("Says that the list of tools has changed")
  .execute(function* (_params, ctx) {
    yield* ctx.listChanged("tools");
    return "Triggered";
  });

export const triggerPromptChange = createMcpTool("test_trigger_prompt_change")
  .description("Says that the list of prompts has changed")
  .execute(function* (_params, ctx) {
    yield* ctx.listChanged("prompts");
    return "Triggered";
  });

export const headerParameter = createMcpTool("test_x_mcp_header")
  .description("Has a parameter that clients repeat in a header")
  .parameters(z.object({ region: z.string().meta({ "x-mcp-header": "Region" }).optional() }))
  .execute(function* ({ region }) {
    return `Region: ${region}`;
  });

export const inputElicitation = createMcpTool("test_input_required_result_elicitation")
  .description("Asks for a name")
  .elicits({ user_name: { response: z.object({ name: z.string() }) } })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("user_name", { message: "What is your name?" });
    return answer.action === "accept" ? `Hello, ${answer.content.name}!` : "Hello, stranger!";
  });

export const inputSampling = createMcpTool("test_input_required_result_sampling")
  .description("Asks the model for a capital")
  .execute(function* (_params, ctx) {
    const prompt = "What is the capital of France?";
    return (yield* ctx.sample({ prompt, maxTokens: 100 })).text;
  });

export const inputRoots = createMcpTool("test_input_required_result_list_roots")
  .description("Asks for the client's roots")
  .execute(function* (_params, ctx) {
    const roots = yield* ctx.roots();
    return `Roots: ${roots.map(({ uri }) => uri).join(", ")}`;
  });

const confirm = { confirm: { response: z.object({ ok: z.boolean() }) } };

export const inputState = createMcpTool("test_input_required_result_request_state")
  .description("Asks, and needs its state back")
  .elicits(confirm)
  .execute(function* (_params, ctx) {
    const { action } = yield* ctx.elicit("confirm", { message: "Go on?" });
    return `state-ok: ${action}`;
  });

export const inputTampered = createMcpTool("test_input_required_result_tampered_state")
  .description("Asks, and notices when its state was touched")
  .elicits(confirm)
  .execute(function* (_params, ctx) {
    const { action } = yield* ctx.elicit("confirm", { message: "Go on?" });
    return `state-ok: ${action}`;
  });

export const inputMultiple = createMcpTool("test_input_required_result_multiple_inputs")
  .description("Asks the person, the model and the client at once")
  .elicits({ user_name: { response: z.object({ name: z.string() }) } })
  .execute(function* (_params, ctx) {
    const [name, greeting, roots] = yield* all([
      ctx.elicit("user_name", { message: "What is your name?" }),
      ctx.sample({ prompt: "Generate a greeting", maxTokens: 50 }),
      ctx.roots(),
    ]);
    const who = name.action === "accept" ? name.content.name : "stranger";
    return `${greeting.text} ${who}, ${roots.length} roots`;
  });

export const inputMultiRound = createMcpTool("test_input_required_result_multi_round")
  .description("Asks twice, one after the other")
  .elicits({
    step1: { response: z.object({ name: z.string() }) },
    step2: { response: z.object({ color: z.string() }) },
  })
  .execute(function* (_params, ctx) {
    const name = yield* ctx.elicit("step1", { message: "Step 1: What is your name?" });
    const color = yield* ctx.elicit("step2", { message: "Step 2: What is your favorite color?" });
    return `${name.action}, ${color.action}`;
  });

export const inputCapabilities = createMcpTool("test_input_required_result_capabilities")
  .description("Asks only what the client can answer")
  .elicits(confirm)
  .execute(function* (_params, ctx) {
    if (!ctx.client.capabilities.elicitation) {
      return (yield* ctx.sample({ prompt: "Shall we go on?", maxTokens: 10 })).text;
    }
    return (yield* ctx.elicit("confirm", { message: "Go on?" })).action;
  });

// -------------------------------------------------------------------- tasks

export const greet = createMcpTool("greet")
  .description("Greets at once")
  .parameters(z.object({ name: z.string() }))
  .execute(function* ({ name }) {
    return `Hello, ${name}!`;
  });

export const slowCompute = createMcpTool("slow_compute")
  .description("Takes its time; a task for clients that know tasks")
  .parameters(z.object({ seconds: z.number().min(0), label: z.string().optional() }))
  .task({ pollInterval: 200 })
  .execute(function* ({ seconds, label }) {
    yield* sleep(seconds * 1000);
    return `Computed ${label ?? "something"} in ${seconds} s`;
  });

export const failingJob = createMcpTool("failing_job")
  .description("A task that fails")
  .task({ required: true, pollInterval: 200 })
  .execute(function* () {
    yield* sleep(100);
    throw new ToolError("The job failed, as it always does");
  });

export const protocolErrorJob = createMcpTool("protocol_error_job")
  .description("A task that ends in a protocol error")
  .task({ pollInterval: 200 })
  .execute(function* () {
    yield* sleep(100);
    throw new ProtocolError(-32603, "The job broke the protocol, as it always does");
  });

export const confirmDelete = createMcpTool("confirm_delete")
  .description("A task that asks before it deletes")
  .parameters(z.object({ filename: z.string() }))
  .task({ pollInterval: 200 })
  .elicits({ confirm: { response: z.object({ confirm: z.boolean() }) } })
  .execute(function* ({ filename }, ctx) {
    const answer = yield* ctx.elicit("confirm", { message: `Delete ${filename}?` });
    return answer.action === "accept" && answer.content.confirm ? `Deleted ${filename}` : "Kept it";
  });

export const multiInput = createMcpTool("multi_input")
  .description("A task that asks two things at once")
  .task({ pollInterval: 200 })
  .elicits({
    first: { response: z.object({ value: z.string().optional() }) },
    second: { response: z.object({ value: z.string().optional() }) },
  })
  .execute(function* (_params, ctx) {
    const answers = yield* all([
      ctx.elicit("first", { message: "The first thing?" }),
      ctx.elicit("second", { message: "The second thing?" }),
    ]);
    return answers.map(({ action }) => action).join(", ");
  });

export const toolWithTask = createMcpTool("test_tool_with_task")
  .description("Asks first, then becomes a task")
  .task({ required: true, start: "when_told", pollInterval: 200 })
  .elicits({ user_name: { response: z.object({ name: z.string() }) } })
  .execute(function* (_params, ctx) {
    const answer = yield* ctx.elicit("user_name", { message: "What is your name?" });
    yield* ctx.startTask();
    yield* sleep(50);
    return `Hello, ${answer.action === "accept" ? answer.content.name : "stranger"}!`;
  });

// ------------------------------------------------------------------ prompts

export const simplePrompt = createMcpPrompt("test_simple_prompt")
  .description("A simple prompt without arguments")
  .execute(function* () {
    return "This is a simple prompt for testing.";
  });

export const promptWithArguments = createMcpPrompt("test_prompt_with_arguments")
  .description("A prompt with two arguments")
  .arguments(z.object({
    arg1: z.string().describe("First test argument"),
    arg2: z.string().describe("Second test argument"),
  }))
  .completes({
    *arg1(value) {
      return ["testValue1", "testValue2", "other"].filter((known) => known.startsWith(value));
    },
  })
  .execute(function* ({ arg1, arg2 }) {
    return `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`;
  });

export const promptWithResource = createMcpPrompt("test_prompt_with_embedded_resource")
  .description("A prompt that carries a resource")
  .arguments(z.object({ resourceUri: z.string().describe("URI of the resource to embed") }))
  .execute(function* ({ resourceUri }) {
    return [
      {
        role: "user",
        content: {
          type: "resource",
          resource: {
            uri: resourceUri,
            mimeType: "text/plain",
            text: "Embedded resource content for testing.",
          },
        },
      },
      {
        role: "user",
        content: { type: "text", text: "Please process the embedded resource above." },
      },
    ];
  });

export const promptWithImage = createMcpPrompt("test_prompt_with_image")
  .description("A prompt that carries an image")
  .execute(function* () {
    return [
      { role: "user", content: image },
      { role: "user", content: { type: "text", text: "Please analyze the image above." } },
    ];
  });

export const promptWithInput = createMcpPrompt("test_input_required_result_prompt")
  .description("A prompt that asks before it is made")
  .elicits({ user_context: { response: z.object({ context: z.string() }) } })
  .execute(function* (_args, ctx) {
    const answer = yield* ctx.elicit("user_context", { message: "What is this about?" });
    return `Context: ${answer.action === "accept" ? answer.content.context : "none"}`;
  });

// ---------------------------------------------------------------- resources

export const staticText = createMcpResource("Static Text Resource")
  .uri("test://static-text")
  .description("A static text resource for testing")
  .mimeType("text/plain")
  .read(function* () {
    return "This is the content of the static text resource.";
  });

export const staticBinary = createMcpResource("Static Binary Resource")
  .uri("test://static-binary")
  .description("A static binary resource for testing")
  .mimeType("image/png")
  .read(function* () {
    return Buffer.from(PNG, "base64");
  });

export const watched = createMcpResource("Watched Resource")
  .uri("test://watched-resource")
  .description("A resource that clients subscribe to")
  .mimeType("text/plain")
  .read(function* () {
    return "Watched resource content";
  });

export const template = createMcpResource("Template Resource")
  .uri("test://template/{id}/data")
  .description("A resource template")
  .mimeType("application/json")
  .read(function* ({ id }) {
    return JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  });
