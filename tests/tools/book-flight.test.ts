import assert from "node:assert/strict";
import {
  type ClientInfo,
  type SampleRequest,
  type SampleResponse,
  testTool,
  type ToolScript,
} from "../../src/mod.ts";
import { bookFlight } from "../../tools/book_flight.ts";
import { describe, it } from "../suite.ts";

type Script = ToolScript<NonNullable<(typeof bookFlight)["elicitTypes"]>>;

const LISBON = { from: "BER", to: "LIS", passengers: 2 };
const choose = { action: "accept", content: { flight: "PY 149" } } as const;
const confirm = { action: "accept", content: { book: true, seat: "window" } } as const;

/** A model that prefers PY 101 for its price and PY 149 for its times. */
const advise = adviseBecause("it is cheap for what it is", "the day is yours");

function adviseBecause(price: string, schedule: string) {
  return ({ params }: SampleRequest): SampleResponse => {
    const isPrice = JSON.stringify(params.messages).includes("value for money");
    const input = isPrice ? { flight: "PY 101", why: price } : { flight: "PY 149", why: schedule };
    return {
      role: "assistant",
      content: [{ type: "tool_use", id: isPrice ? "p" : "s", name: "__schema__", input }],
      model: "m",
      stopReason: "toolUse",
    };
  };
}

const book = (script: Script, params = LISBON) =>
  testTool(bookFlight, params, { sample: advise, elicit: { choose, confirm }, ...script });

describe("book_flight", () => {
  it("finds, compares, asks and books", async () => {
    const run = await book({});
    assert.deepEqual(run.structured, {
      sample: true,
      status: "booked",
      flight: "PY 149",
      departs: "20:55",
      arrives: "00:05",
      seat: "window",
      passengers: 2,
      total: 242,
      reference: "SAMPLE-PY149",
      summary: run.text,
    });
    assert.match(run.text, /sample data.*PY 149.*window seat, 242 €/);
    assert.deepEqual(run.conversation.map(({ key }) => key), [
      "sample",
      "sample",
      "choose",
      "confirm",
    ]);
    assert.deepEqual(run.faults, []);
    assert.deepEqual(run.warnings, []);
  });

  it("asks about price and schedule at once, in separate conversations", async () => {
    const { events } = await book({});
    const [first, second] = events.filter(({ type }) =>
      type === "sample_request"
    ) as SampleRequest[];
    // Both are asked before either is answered.
    const answered = events.findIndex(({ type }) => type === "answer");
    assert.ok(events.indexOf(second as never) < answered);
    assert.notEqual(first!.place.branch, second!.place.branch);
    assert.equal(second!.params.messages.length, 1);
  });

  it("shows the person both opinions, and offers the available flights", async () => {
    const { events, conversation } = await book({});
    assert.match(conversation[2]!.asked, /price: PY 101, because it is cheap for what it is/);
    assert.match(conversation[2]!.asked, /schedule: PY 149, because the day is yours/);
    assert.match(conversation[3]!.asked, /PY 149.*for 2\? That makes 242 €/);
    const form = events.find(({ type }) => type === "elicit_request") as unknown as {
      params: {
        requestedSchema: { properties: { flight: { oneOf: { const: string; title: string }[] } } };
      };
    };
    const { oneOf } = form.params.requestedSchema.properties.flight;
    assert.deepEqual(oneOf.map((choice) => choice.const), ["PY 101", "PY 117", "PY 125", "PY 149"]);
    assert.match(oneOf[0]!.title, /06:10–09:10 \(4 h 00, non-stop\), 189 €/);
  });

  it("writes everything in one line, and marks the advice in the choices", async () => {
    const why = "it is cheap,\nand it leaves early. " + "x".repeat(200);
    const { events, conversation } = await book({ sample: adviseBecause(why, why) });
    for (const { key, asked } of conversation) {
      if (key !== "sample") assert.doesNotMatch(asked, /\n/);
    }
    const { asked } = conversation[2]!;
    assert.match(
      asked,
      /^Which flight would you like\? For the price: PY 101, because it is cheap, and/,
    );
    assert.match(asked, /For the schedule: PY 149/);
    // Some dialogs show three lines of 80 characters.
    assert.ok(asked.length <= 3 * 80, asked);
    const titles = events.flatMap((event) =>
      event.type === "elicit_request" ? [JSON.stringify(event.params)] : []
    )[0]!;
    assert.match(titles, /PY 101, [^"]*189 € – best price"/);
    assert.match(titles, /PY 149, [^"]*121 € – best times"/);
  });

  it("works without a model, and with one that refuses or answers nonsense", async () => {
    const client: ClientInfo = { name: "Acme", capabilities: { elicitation: {} } };
    const without: Script[] = [
      { client },
      { sample: { error: { code: -1, message: "denied" } } },
      { sample: "I like trains." },
    ];
    for (const script of without) {
      const run = await book(script);
      assert.equal(run.structured.status, "booked");
      const asked = run.conversation.find(({ key }) => key === "choose")!.asked;
      assert.match(asked, /price: PY 117, because it is the cheapest/);
      assert.match(asked, /schedule: PY 125, because it takes the least time/);
    }
  });

  it("uses one side's advice if the other has none", async () => {
    const run = await book({
      sample: (request) => {
        const isPrice = JSON.stringify(request.params.messages).includes("value for money");
        return isPrice ? { error: { code: -1, message: "denied" } } : advise(request);
      },
    });
    const asked = run.conversation.find(({ key }) => key === "choose")!.asked;
    assert.match(asked, /price: PY 117, because it is the cheapest/);
    assert.match(asked, /schedule: PY 149, because the day is yours/);
  });

  it("books nothing unless the person chooses and confirms", async () => {
    const decided = "Nothing was booked: the person decided against it.";
    const refusals: [Script, "declined" | "cancelled"][] = [
      [{ elicit: { choose: "decline" } }, "declined"],
      [{ elicit: { choose: "cancel" } }, "cancelled"],
      [{ elicit: { choose, confirm: "decline" } }, "declined"],
      [{ elicit: { choose, confirm: "cancel" } }, "cancelled"],
      [
        { elicit: { choose, confirm: { action: "accept", content: { book: false } } } },
        "declined",
      ],
    ];
    for (const [script, reason] of refusals) {
      const run = await book(script);
      assert.deepEqual(run.structured, {
        sample: true,
        status: "not booked",
        reason,
        passengers: 2,
        summary: run.text,
      });
      assert.equal(run.text === decided, reason === "declined");
      assert.match(
        run.text,
        reason === "declined" ? /decided against/ : /closed without an answer/,
      );
      assert.notEqual(run.result.isError, true);
      assert.deepEqual(run.warnings, []);
    }
  });

  it("accepts no flight that is not on offer", async () => {
    const stranger = { action: "accept", content: { flight: "PY 202" } } as const;
    const run = await book({ elicit: { choose: [stranger, choose], confirm } });
    assert.equal(run.structured.flight, "PY 149");
  });

  it("reports that there is no flight before it asks anybody", async () => {
    const run = await book({}, { from: "BER", to: "BER", passengers: 1 });
    assert.equal(run.result.isError, true);
    assert.match(run.text, /no flight from BER to BER/);
    assert.deepEqual(run.conversation, []);
  });

  it("reports its progress", async () => {
    const { events } = await book({});
    const told = events.flatMap((event) =>
      event.type === "progress" ? [[event.progress, event.total]] : []
    );
    assert.deepEqual(told, [[0, 4], [1, 4], [2, 4], [3, 4], [4, 4]]);
  });
});
