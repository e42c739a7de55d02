/**
 * Everything that the official conformance suite expects a server to offer,
 * written with the public API like any other module.
 */
import { Buffer } from "node:buffer";
import {
  type ContentBlock,
  createMcpPrompt,
  createMcpResource,
  createMcpSkill,
  createMcpTool,
  ToolError,
} from "parley-mcp";
import { sleep } from "effection";
import { z } from "zod";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

const image: ContentBlock = { type: "image", data: PNG, mimeType: "image/png" };

export * from "./modern-fixtures.ts";

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
      yield* sleep(0);
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
    yield* sleep(0);
    yield* ctx.log("info", "Tool processing data");
    yield* sleep(0);
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
    // The suite runs against the real program and its clock. The response becomes a stream after
    // 100 ms, and only a stream can be closed and resumed.
    yield* sleep(150);
    yield* ctx.hangUp();
    yield* sleep(100);
    return "Reconnection test completed successfully";
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

// ---------------------------------------------------------------- skills

export const skill = createMcpSkill("test-skill")
  .description("A skill for testing")
  .frontmatter({ license: "MIT", metadata: { author: "tests" } })
  .file("references/notes.md", "# Notes")
  .file("assets/data.json", "{}")
  .instructions("# Test skill\n\nRead references/notes.md.");
