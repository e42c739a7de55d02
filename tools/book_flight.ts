/** Finds flights, compares them by price and schedule in parallel, and books the person's choice. */
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

/** A recommended flight, and the reason for it. */
interface Advice {
  readonly flight: Flight;
  readonly why: string;
}

/** A criterion for comparing flights. Without a model, the flight with the lowest `cost` wins. */
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
    return { flight, why: halfSentence(parsed.why) };
  } catch (error) {
    const canDoWithout = error instanceof CapabilityError || error instanceof SampleError ||
      error instanceof SampleValidationError;
    if (!canDoWithout) throw error;
    yield* ctx.log("info", `Comparing the ${side.name} without a model: ${error.message}`);
    const flight = flights.toSorted((a, b) => side.cost(a) - side.cost(b))[0]!;
    return { flight, why: side.why };
  }
}

/**
 * Maximum length of a reason, in characters. Some dialogs show only three lines of a message, and the
 * message contains two reasons.
 */
const MAX_REASON_LENGTH = 60;

/** The model's text on one line, without its full stop. */
function halfSentence(text: string): string {
  const line = text.replace(/\s+/g, " ").trim().replace(/\.$/, "");
  return line.length > MAX_REASON_LENGTH ? `${line.slice(0, MAX_REASON_LENGTH - 1)}…` : line;
}

/** The form with the flights as choices. The best flight by each criterion is marked. */
function flightForm(flights: readonly Flight[], price: Advice, schedule: Advice) {
  const choices = flights.map((flight) => {
    const marks = [
      ...(flight === price.flight ? ["best price"] : []),
      ...(flight === schedule.flight ? ["best times"] : []),
    ];
    const title = [describeFlight(flight), ...marks].join(" – ");
    return z.literal(flight.number).meta({ title });
  });
  return z.object({ flight: z.union(choices) });
}

/** Why nothing was booked: the person declined, or closed a form without an answer. */
type Refusal = "declined" | "cancelled";

const NOT_BOOKED: Record<Refusal, string> = {
  declined: "Nothing was booked: the person decided against it.",
  cancelled:
    "Nothing was booked: the question was closed without an answer. Ask the person whether they still want the flight.",
};

function notBooked(action: "decline" | "cancel") {
  const reason: Refusal = action === "decline" ? "declined" : "cancelled";
  return { status: "not booked" as const, reason };
}

const airport = z.enum(AIRPORTS).describe("An airport of the sample timetable");

export const bookFlight = createMcpTool("book_flight")
  .title("Book a flight")
  .description(
    "Finds flights in a made-up sample timetable (nothing is really booked), compares them by price and by schedule, and lets the person choose and confirm. " +
      `Airports: ${AIRPORTS.join(", ")}.`,
  )
  .parameters(z.object({
    from: airport,
    to: airport,
    passengers: z.int().min(1).max(9).default(1),
  }))
  .output(z.object({
    sample: z.literal(true).describe("This is made up: no flight was really booked"),
    status: z.enum(["booked", "not booked"]),
    reason: z.enum(["declined", "cancelled"]).optional().describe(
      "Why nothing was booked: the person said no, or closed the question without an answer",
    ),
    flight: z.string().optional(),
    departs: z.string().optional(),
    arrives: z.string().optional(),
    seat: z.enum(["window", "aisle", "any"]).optional(),
    passengers: z.int(),
    total: z.number().optional().describe("Total price for all passengers, in euros"),
    reference: z.string().optional(),
    summary: z.string().describe("What happened, in words"),
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
      // A booking costs money, so a person must confirm it.
      by: "person",
    },
  })
  .requires({ elicitation: true })
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
      // Each criterion has its own branch, and so its own conversation. Both branches run in parallel.
      const [price, schedule] = yield* ctx.branches([
        (branch) => weigh(branch, PRICE, flights),
        (branch) => weigh(branch, SCHEDULE, flights),
      ]);

      yield* ctx.notify("Choosing", 2, STEPS);
      const choice = yield* ctx.elicit("choose", {
        // The form lists the flights. Keep the message short, because many dialogs cut it.
        message:
          `Which flight would you like? For the price: ${price.flight.number}, because ${price.why}. ` +
          `For the schedule: ${schedule.flight.number}, because ${schedule.why}.`,
        byPrice: price.flight.number,
        bySchedule: schedule.flight.number,
      }, { response: flightForm(flights, price, schedule) });
      if (choice.action !== "accept") return notBooked(choice.action);
      const flight = flights.find(({ number }) => number === choice.content.flight)!;

      yield* ctx.notify("Confirming", 3, STEPS);
      const total = flight.price * passengers;
      const confirmed = yield* ctx.elicit("confirm", {
        message: `Book ${describeFlight(flight)} for ${passengers}? That makes ${total} €.`,
      });
      if (confirmed.action !== "accept") return notBooked(confirmed.action);
      if (!confirmed.content.book) return notBooked("decline");
      return { status: "booked" as const, flight, total, seat: confirmed.content.seat };
    },

    *after({ passengers }, result, ctx) {
      yield* ctx.notify("Done", STEPS, STEPS);
      if (result.status === "not booked") {
        const { status, reason } = result;
        const summary = NOT_BOOKED[reason];
        return {
          content: [{ type: "text", text: summary }],
          structuredContent: { sample: true, status, reason, passengers, summary },
        };
      }
      const { flight, total, seat, status } = result;
      const reference = `SAMPLE-${flight.number.replace(" ", "")}`;
      const summary = `Booked (sample data, nothing real): ${
        describeFlight(flight)
      }, for ${passengers}, ${seat} seat, ${total} € in all. Reference ${reference}.`;
      return {
        content: [{ type: "text", text: summary }],
        structuredContent: {
          sample: true,
          status,
          flight: flight.number,
          departs: flight.departs,
          arrives: flight.arrives,
          seat,
          passengers,
          total,
          reference,
          summary,
        },
      };
    },
  });
