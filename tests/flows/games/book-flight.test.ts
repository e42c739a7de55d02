/** Books a flight in both eras, with and without a model. */
import assert from "node:assert/strict";
import type { JsonObject, SampleParams } from "parley-mcp";
import { bookFlight } from "../../../tools/book_flight.ts";
import { scriptedProvider } from "../../ask/sampling-kit.ts";
import { describe, it } from "../../suite.ts";
import { onSocket } from "../../support/socket.ts";
import { type Played, playV1, playV2, type Table } from "./players.ts";

const CALL = { name: "book_flight", arguments: { from: "BER", to: "OSL", passengers: 3 } };

const BOOKED = {
  sample: true,
  status: "booked",
  flight: "PY 233",
  departs: "17:40",
  arrives: "19:25",
  seat: "aisle",
  passengers: 3,
  total: 297,
  reference: "SAMPLE-PY233",
};

const ADVICE = { flight: "PY 201", why: "the early bird" };

/** A person who chooses PY 233, and (optionally) a model that prefers PY 201. */
function table(sampling: "tools" | "words" | "none", heard: string[] = []): Table {
  return {
    person({ message, requestedSchema }) {
      heard.push(message);
      const fields = Object.keys(requestedSchema.properties as JsonObject);
      return fields.includes("flight") ? { flight: "PY 233" } : { book: true, seat: "aisle" };
    },
    ...(sampling !== "none" && {
      model: {
        knowsTools: sampling === "tools",
        answer: ({ tools }: SampleParams) => ({
          role: "assistant",
          model: "m",
          content: tools
            ? [{ type: "tool_use", id: "a", name: "__schema__", input: ADVICE }]
            : { type: "text", text: JSON.stringify(ADVICE) },
        }),
      },
    }),
  };
}

function checkBooked({ result }: Played): void {
  const [block] = result.content;
  assert.ok(block?.type === "text");
  assert.match(block.text, /sample data.*aisle seat/);
  assert.deepEqual(result.structuredContent, { ...BOOKED, summary: block.text });
}

const served = (body: (url: string) => Promise<void>) => onSocket({ serve: [bookFlight] }, body);

describe("book_flight with official clients", () => {
  it("books in the legacy era, with a model that knows tools, one that does not, and none", () =>
    served(async (url) => {
      for (const sampling of ["tools", "words", "none"] as const) {
        const heard: string[] = [];
        const played = await playV1(url, table(sampling, heard), CALL);
        checkBooked(played);
        assert.equal(played.asked.filter((what) => what === "form").length, 2);
        assert.equal(played.asked.length, sampling === "none" ? 2 : 4);
        assert.match(heard[0]!, sampling === "none" ? /it is the cheapest/ : /the early bird/);
        assert.deepEqual(played.progress, [...played.progress].sort((a, b) => a - b));
        assert.equal(played.progress.at(-1), 4);
      }
    }));

  it("books in the modern era, and asks about both sides in one round", () =>
    served(async (url) => {
      for (const sampling of ["tools", "words", "none"] as const) {
        const heard: string[] = [];
        const rounds = sampling === "none" ? 2 : 3;
        const played = await playV2(url, table(sampling, heard), CALL, rounds);
        checkBooked(played);
        assert.equal(played.version, "2026-07-28");
        assert.match(heard[0]!, sampling === "none" ? /it is the cheapest/ : /the early bird/);
      }
    }));

  it("uses the server's own model if the client has none", async () => {
    const provider = scriptedProvider({
      role: "assistant",
      content: [{ type: "tool_use", id: "a", name: "__schema__", input: ADVICE }],
      model: "p",
    });
    await onSocket({ serve: [bookFlight], sampling: { provider } }, async (url) => {
      for (const play of [playV1, playV2]) {
        const heard: string[] = [];
        checkBooked(await play(url, table("none", heard), CALL));
        assert.match(heard[0]!, /the early bird/);
      }
      assert.equal(provider.asked.length, 4);
    });
  });

  it("books nothing if the person says no, in both eras", async () => {
    for (const play of [playV1, playV2]) {
      for (const no of ["decline", "cancel"] as const) {
        // A server of its own: after two refusals this fast, a client counts as one without forms.
        await served(async (url) => {
          const { result } = await play(url, { person: () => no }, CALL);
          const { summary, ...rest } = result.structuredContent as JsonObject;
          assert.deepEqual(rest, {
            sample: true,
            status: "not booked",
            reason: no === "decline" ? "declined" : "cancelled",
            passengers: 3,
          });
          assert.match(String(summary), no === "decline" ? /decided against/ : /without an answer/);
        });
      }
    }
  });

  it("reports to the model that there is no flight, or that the airport is unknown", () =>
    served(async (url) => {
      for (const play of [playV1, playV2]) {
        for (const to of ["BER", "XXX"]) {
          const call = { ...CALL, arguments: { from: "BER", to } };
          const { result, asked } = await play(url, table("none"), call);
          assert.equal(result.isError, true);
          assert.deepEqual(asked, []);
        }
      }
    }));
});
