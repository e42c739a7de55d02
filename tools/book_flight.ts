/** Finds flights, has them weighed from two sides at once, and books what the person chooses. */
import type { Operation } from "effection";
import {
  CapabilityError,
  createMcpTool,
  type McpToolContext,
  SampleError,
  SampleValidationError,
  ToolError,
} from "parley-mcp";
import { z } from "zod";
import { AIRPORTS, describeFlight, type Flight, searchFlights } from "./book_flight/timetable.ts";

/** What can be said for a flight, and who says it. */
interface Advice {
  readonly flight: Flight;
  readonly why: string;
  readonly by: "model" | "arithmetic";
}

/** A side from which flights can be weighed; the figures do where no model is to be had. */
interface Side {
  readonly name: string;
  readonly question: string;
  readonly cost: (flight: Flight) => number;
  readonly why: string;
}

const PRICE: Side = {
  name: "price",
  question: "Which flight is the best value for money?",
  cost: ({ price }) => price,
  why: "it is the cheapest",
};

const SCHEDULE: Side = {
  name: "schedule",
  question: "Which flight has the most convenient times? Nobody likes nights and stops.",
  cost: ({ minutes, stops, departs }) => minutes + stops * 60 + (departs < "07:00" ? 90 : 0),
  why: "it takes the least time at a decent hour",
};

const STEPS = 4;

function* weigh(ctx: McpToolContext, side: Side, flights: readonly Flight[]): Operation<Advice> {
  try {
    const { parsed } = yield* ctx.sampleSchema({
      prompt: `${side.question}\n${flights.map(describeFlight).join("\n")}`,
      schema: z.object({
        flight: z.literal(flights.map(({ number }) => number)),
        why: z.string().describe("The reason, in half a sentence"),
      }),
      maxTokens: 1_000,
    });
    const flight = flights.find(({ number }) => number === parsed.flight)!;
    return { flight, why: parsed.why, by: "model" };
  } catch (error) {
    const canDoWithout = error instanceof CapabilityError || error instanceof SampleError ||
      error instanceof SampleValidationError;
    if (!canDoWithout) throw error;
    yield* ctx.log("info", `Weighing the ${side.name} without a model: ${error.message}`);
    const flight = flights.toSorted((a, b) => side.cost(a) - side.cost(b))[0]!;
    return { flight, why: side.why, by: "arithmetic" };
  }
}

function flightForm(flights: readonly Flight[]) {
  const choices = flights.map((flight) =>
    z.literal(flight.number).meta({ title: describeFlight(flight) })
  );
  return z.object({ flight: z.union(choices) });
}

const airport = z.enum(AIRPORTS).describe("An airport of the sample timetable");

export const bookFlight = createMcpTool("book_flight")
  .title("Book a flight")
  .description(
    "Finds flights in a made-up sample timetable (nothing is really booked), has them weighed " +
      `by price and by schedule, and lets the person choose and confirm. Airports: ${
        AIRPORTS.join(", ")
      }.`,
  )
  .parameters(z.object({
    from: airport,
    to: airport,
    passengers: z.int().min(1).max(9).default(1),
  }))
  .output(z.object({
    sample: z.literal(true).describe("This is made up: no flight was really booked"),
    status: z.enum(["booked", "not booked"]),
    flight: z.string().optional(),
    passengers: z.int(),
    total: z.number().optional().describe("Euros for all passengers"),
    reference: z.string().optional(),
  }))
  .elicits({
    choose: {
      response: z.object({ flight: z.string() }),
      context: z.object({ byPrice: z.string(), bySchedule: z.string() }),
    },
    confirm: {
      response: z.object({
        book: z.boolean().describe("Yes, book it").default(true),
        seat: z.enum(["window", "aisle", "any"]).default("any"),
      }),
    },
  })
  .requires({ elicitation: "form" })
  .durable()
  .handoff({
    *before({ from, to, passengers }, ctx) {
      yield* ctx.notify(`Looking for flights from ${from} to ${to}`, 0, STEPS);
      const flights = searchFlights(from, to);
      if (flights.length === 0) {
        throw new ToolError(
          `The sample timetable has no flight from ${from} to ${to}; try another pair of ${
            AIRPORTS.join(", ")
          }.`,
        );
      }
      return { flights, passengers };
    },

    *client({ flights, passengers }, ctx) {
      yield* ctx.notify(`Weighing ${flights.length} flights`, 1, STEPS);
      // Each side has a branch, and so a conversation, of its own; both are asked at once.
      const [price, schedule] = yield* ctx.branches([
        (branch) => weigh(branch, PRICE, flights),
        (branch) => weigh(branch, SCHEDULE, flights),
      ]);

      yield* ctx.notify("Choosing", 2, STEPS);
      const choice = yield* ctx.elicit("choose", {
        message: [
          "Which flight would you like?",
          "",
          ...flights.map((flight) => `• ${describeFlight(flight)}`),
          "",
          `For the price: ${price.flight.number}, because ${price.why}.`,
          `For the schedule: ${schedule.flight.number}, because ${schedule.why}.`,
        ].join("\n"),
        byPrice: price.flight.number,
        bySchedule: schedule.flight.number,
      }, { response: flightForm(flights) });
      if (choice.action !== "accept") return { status: "not booked" as const };
      const flight = flights.find(({ number }) => number === choice.content.flight)!;

      yield* ctx.notify("Confirming", 3, STEPS);
      const total = flight.price * passengers;
      const confirmed = yield* ctx.elicit("confirm", {
        message: `Book ${describeFlight(flight)} for ${passengers}? That makes ${total} €.`,
      });
      if (confirmed.action !== "accept" || !confirmed.content.book) {
        return { status: "not booked" as const };
      }
      return { status: "booked" as const, flight, total, seat: confirmed.content.seat };
    },

    *after({ passengers }, result, ctx) {
      yield* ctx.notify("Done", STEPS, STEPS);
      if (result.status === "not booked") {
        return {
          content: [{ type: "text", text: "Nothing was booked: the person decided against it." }],
          structuredContent: { sample: true, status: result.status, passengers },
        };
      }
      const { flight, total, seat, status } = result;
      const reference = `SAMPLE-${flight.number.replace(" ", "")}`;
      const text = `Booked (sample data, nothing real): ${
        describeFlight(flight)
      }, for ${passengers}, ${seat} seat, ${total} € in all. Reference ${reference}.`;
      return {
        content: [{ type: "text", text }],
        structuredContent: {
          sample: true,
          status,
          flight: flight.number,
          passengers,
          total,
          reference,
        },
      };
    },
  });
