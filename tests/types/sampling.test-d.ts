// What sampling promises to the compiler: each line marked @ts-expect-error must not
// compile, and everything else must. Checked, never run.
import { z } from "zod";
import { z as z3 } from "zod/v3";
import {
  closeToolCalls,
  createMcpTool,
  createParley,
  createSamplingProvider,
  type JsonObject,
  type McpMessage,
  type SampleExchange,
  type SampleValidationError,
  samplingFromEnvironment,
  type SamplingProvider,
  type SamplingToolCall,
} from "../../src/mod.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
function holds<T extends true>(): T | void {}

const schema = z.object({ cell: z.number(), why: z.string().optional() });
type Move = { cell: number; why?: string | undefined };
const tools = [
  {
    name: "attack",
    inputSchema: z.object({ reasoning: z.string(), hard: z.boolean().default(true) }),
  },
  { name: "defend", inputSchema: z3.object({ threat: z3.string() }) },
  { name: "wait", inputSchema: { type: "object", properties: {} } },
] as const;

createMcpTool("t").description("d").execute(function* (_params, ctx) {
  // -------------------------------------------------------------------- plain
  const plain = yield* ctx.sample({ prompt: "?" });
  holds<Equal<typeof plain.text, string>>();
  holds<Equal<typeof plain.exchange, SampleExchange>>();
  // @ts-expect-error a plain sample has no data
  void plain.parsed;
  // @ts-expect-error a plain sample has no calls
  void plain.toolCalls;
  yield* ctx.sample({
    messages: [{ role: "user", content: "?" }, ...plain.exchange.messages],
    systemPrompt: "",
    maxTokens: 5,
    temperature: 0,
    stopSequences: ["."],
    modelPreferences: { hints: [{ name: "small" }], speedPriority: 1 },
    by: "provider",
  });
  // @ts-expect-error either a prompt or messages
  yield* ctx.sample({ prompt: "?", messages: [] });
  // @ts-expect-error either a prompt or messages
  yield* ctx.sample({ systemPrompt: "" });
  // @ts-expect-error there is no such answerer
  yield* ctx.sample({ prompt: "?", by: "somebody" });
  // @ts-expect-error only the guaranteed ones retry
  yield* ctx.sample({ prompt: "?", retries: 2 });

  // --------------------------------------------------------------- with a schema
  const loose = yield* ctx.sample({ prompt: "?", schema });
  holds<Equal<typeof loose.parsed, Move | null>>();
  holds<Equal<typeof loose.exchange.parsed, Move | undefined>>();
  holds<
    Equal<
      typeof loose.parseError,
      { readonly message: string; readonly rawText: string } | undefined
    >
  >();
  // @ts-expect-error it may be null
  void loose.parsed.cell;
  // @ts-expect-error data is no call
  void loose.toolCalls;
  yield* ctx.sample({ messages: [{ role: "user", content: "?" }], schema });
  // @ts-expect-error a schema beside tools
  yield* ctx.sample({ prompt: "?", schema, tools });
  // @ts-expect-error a schema beside a choice among tools
  yield* ctx.sample({ prompt: "?", schema, toolChoice: "auto" });

  // ---------------------------------------------------------------- with tools
  const called = yield* ctx.sample({ prompt: "?", tools, toolChoice: "none" });
  holds<Equal<(typeof called.toolCalls)[number], SamplingToolCall>>();
  // @ts-expect-error there may be none
  void called.toolCalls[0].name;
  // @ts-expect-error a choice among tools that are not there
  yield* ctx.sample({ prompt: "?", toolChoice: "auto" });
  // @ts-expect-error there is no such choice
  yield* ctx.sample({ prompt: "?", tools, toolChoice: "always" });
  // @ts-expect-error a tool needs a schema
  yield* ctx.sample({ prompt: "?", tools: [{ name: "a" }] });

  // -------------------------------------------------------------- sampleSchema
  const sure = yield* ctx.sampleSchema({ prompt: "?", schema, retries: 3 });
  holds<Equal<typeof sure.parsed, Move>>();
  const read = yield* ctx.sampleSchema({
    messages: [],
    schema: z.iso.date().transform((day) => new Date(day)),
  });
  holds<Equal<typeof read.parsed, Date>>();
  const old = yield* ctx.sampleSchema({ prompt: "?", schema: z3.object({ n: z3.number() }) });
  holds<Equal<typeof old.parsed, { n: number }>>();
  const raw = yield* ctx.sampleSchema({ prompt: "?", schema: { type: "object" } });
  holds<Equal<typeof raw.parsed, JsonObject>>();
  const unknown = yield* ctx.sampleSchema({ prompt: "?", schema: { enum: [1, 2] } });
  holds<Equal<typeof unknown.parsed, unknown>>();
  // @ts-expect-error the schema is missing
  yield* ctx.sampleSchema({ prompt: "?" });
  // @ts-expect-error either a prompt or messages
  yield* ctx.sampleSchema({ schema });
  // @ts-expect-error a schema beside tools
  yield* ctx.sampleSchema({ prompt: "?", schema, tools });
  // @ts-expect-error a string is no schema
  yield* ctx.sampleSchema({ prompt: "?", schema: "string" });

  // --------------------------------------------------------------- sampleTools
  const strategy = yield* ctx.sampleTools({ prompt: "?", tools, retries: 1 });
  const [call] = strategy.toolCalls;
  holds<Equal<typeof strategy.stopReason, "toolUse">>();
  holds<Equal<typeof call.name, "attack" | "defend" | "wait">>();
  // The name determines the arguments.
  switch (call.name) {
    case "attack":
      holds<Equal<typeof call.arguments, { reasoning: string; hard: boolean }>>();
      break;
    case "defend":
      holds<Equal<typeof call.arguments, { threat: string }>>();
      break;
    case "wait":
      holds<Equal<typeof call.arguments, JsonObject>>();
  }
  // @ts-expect-error not before the name is known
  void call.arguments.threat;
  // @ts-expect-error there is no such tool
  if (call.name === "fly") return;
  // Written inline, the names are as exact.
  const inline = yield* ctx.sampleTools({
    messages: [{ role: "user", content: "?" }],
    tools: [{ name: "a", inputSchema: z.object({ n: z.int() }) }],
  });
  holds<Equal<typeof inline.toolCalls[0], SamplingToolCall<"a", { n: number }>>>();
  // @ts-expect-error the tools are missing
  yield* ctx.sampleTools({ prompt: "?" });
  // @ts-expect-error tools beside a schema
  yield* ctx.sampleTools({ prompt: "?", tools, schema });
  // @ts-expect-error either a prompt or messages
  yield* ctx.sampleTools({ prompt: "?", messages: [], tools });

  const closed: McpMessage[] = closeToolCalls(strategy.exchange, (use) => use.name);
  void closeToolCalls(sure.exchange);
  return closed.length;
});

// -------------------------------------------------------------------- providers

const own: SamplingProvider = {
  name: "mine",
  sample: ({ messages, maxTokens }, signal) => {
    void [messages.length, maxTokens.toFixed(), signal.aborted];
    return Promise.resolve({ role: "assistant", content: "hi", model: "mine" });
  },
};
createParley({ sampling: { provider: own, answerer: "provider" } });
createParley({ sampling: { provider: createSamplingProvider({ model: "ollama:llama3.3" }) } });
const named: SamplingProvider | undefined = samplingFromEnvironment({ PARLEY_MODEL: undefined });
void named;
// @ts-expect-error there is no such answerer
createParley({ sampling: { answerer: "nobody" } });
// @ts-expect-error the model is missing
createSamplingProvider({ apiKey: "k" });

/** The error says which helper gave up, after how many attempts, and on what. */
export function report(error: SampleValidationError): string {
  holds<Equal<typeof error.method, "sampleSchema" | "sampleTools">>();
  return `${error.attempts}: ${error.lastResult.text}`;
}
