import assert from "node:assert/strict";
import {
  type AnsweredQuestion,
  type AskedQuestion,
  createManualClock,
  createMcpTool,
  createParley,
  InMemoryToolSessionStore,
} from "parley-mcp";
import { z } from "zod";
import { type LogOptions, logQuestions, OperatorLog } from "../../src/cli/log.ts";
import { describe, it } from "../suite.ts";
import { TestClient } from "../support/modern/client.ts";

const tool = createMcpTool("order").description("d").durable()
  .elicits({ sure: { response: z.object({ yes: z.boolean() }) } })
  .execute(function* (_params, ctx) {
    yield* ctx.elicit("sure", { message: "a secret message" });
    const second = yield* ctx.elicit("sure", { message: "?" }, { timeout: 1_000 });
    return second.action;
  });

function server(store = new InMemoryToolSessionStore(), fails = false) {
  const clock = createManualClock();
  const told: (AskedQuestion | AnsweredQuestion)[] = [];
  const faults: string[] = [];
  const tell = (one: AskedQuestion | AnsweredQuestion) => {
    told.push(one);
    if (fails) throw new Error("the log is full");
  };
  const parley = createParley({
    serve: [tool],
    clock,
    store,
    report: ({ what }) => faults.push(what),
    onQuestion: tell,
    onAnswer: tell,
  });
  return { clock, told, faults, parley };
}

describe("onQuestion and onAnswer", () => {
  it("tell of each question and how the call continues, also after a restart", async () => {
    const store = new InMemoryToolSessionStore();
    const one = server(store);
    await new TestClient(one.parley.fetch).call("order");
    const [asked, ...more] = one.told;
    assert.deepEqual(more, []);
    const { client: _client, sessionId: id, ...question } = asked!;
    assert.deepEqual(question, {
      kind: "tool",
      toolName: "order",
      principal: "",
      question: "sure",
      asked: "person",
      door: "form",
      isTimeout: false,
    });
    await one.parley.close();
    const { parley, told, clock } = server(store);
    clock.advance(500);
    const answer = { action: "accept", content: { yes: true } } as const;
    const watch = parley.calls.watch();
    assert.equal(await parley.calls.answer(id, "sure", answer), "accepted");
    while ((await parley.calls.get(id))!.lastLSN < 3) await watch.next();
    clock.advance(1_000);
    while ((await parley.calls.get(id))!.state !== "completed") await watch.next();
    assert.deepEqual(
      told.map((one) =>
        "via" in one ? [one.via, one.elapsed, one.door] : (one as AskedQuestion).isTimeout
      ),
      [["operator", 500, "form"], false, true],
      "a replay does not ask again",
    );
    await parley.close();
  });

  it("do not disturb the call if they throw", async () => {
    const { parley, faults } = server(undefined, true);
    await new TestClient(parley.fetch).call("order");
    assert.deepEqual(faults, ["onQuestion threw an error"]);
    assert.equal((await parley.calls.list({ state: "waiting" })).total, 1);
    await parley.close();
  });
});

describe("logQuestions()", () => {
  const question: AskedQuestion = {
    kind: "tool",
    toolName: "order",
    sessionId: "s",
    client: { capabilities: {} },
    principal: "",
    question: "sure",
    asked: "person",
    door: "page",
    isTimeout: false,
  };
  const logged = (level: LogOptions["level"]) => {
    const lines: string[] = [];
    const write = (line: string) => lines.push(line);
    const log = new OperatorLog({ level, format: "json", write, now: () => new Date(0) });
    return { lines, log };
  };

  it("writes a line when a call waits, and when it continues", () => {
    const { lines, log } = logged("info");
    const { onQuestion, onAnswer } = logQuestions(log);
    onQuestion!(question);
    const response = { action: "accept", content: { yes: "secret" } } as const;
    onAnswer!({ ...question, via: "form", elapsed: 1_234.5, response });
    onQuestion!({ ...question, asked: "model", isTimeout: true });
    const base = { time: "1970-01-01T00:00:00.000Z", level: "info", tool: "order", session: "s" };
    const shared = { ...base, question: "sure", door: "page" };
    assert.deepEqual(lines.map((line) => JSON.parse(line)), [
      { ...shared, message: "tool order waits" },
      { ...shared, message: "tool order continues", via: "form", ms: 1_235 },
      { ...shared, message: "tool order continues", via: "timeout", asked: "model" },
    ]);
  });

  it("asks for nothing if the level hides the lines", () => {
    assert.deepEqual(logQuestions(logged("warning").log), {});
    const answered = () => {};
    assert.deepEqual(logQuestions(logged("silent").log, answered), { onAnswer: answered });
  });
});
