/** What the conformance suite expects of a modern server: questions in rounds, and tasks. */
import { all, sleep } from "effection";
import { createMcpTool, ProtocolError, ToolError } from "parley-mcp";
import { z } from "zod";

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
    yield* sleep(0);
    throw new ToolError("The job failed, as it always does");
  });

export const protocolErrorJob = createMcpTool("protocol_error_job")
  .description("A task that ends in a protocol error")
  .task({ pollInterval: 200 })
  .execute(function* () {
    yield* sleep(0);
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
    yield* sleep(0);
    return `Hello, ${answer.action === "accept" ? answer.content.name : "stranger"}!`;
  });
