/** The model suggests dishes, the person chooses one, and the model writes the shopping list. */
import { all } from "effection";
import { CapabilityError, createMcpTool, ToolError } from "parley-mcp";
import { z } from "zod";

const FIVE_MINUTES = 5 * 60_000;
const MAX_NAME_LENGTH = 80;

/** Reads the dish name from the model's text, as one line. */
function dishName(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  if (line === "") return "a dish without a name";
  return line.length > MAX_NAME_LENGTH ? `${line.slice(0, MAX_NAME_LENGTH - 1)}…` : line;
}

/** The form whose choices are the names of the dishes. */
function dishForm(first: string, second: string) {
  const dish = z.union([
    z.literal("first").meta({ title: first }),
    z.literal("second").meta({ title: second }),
  ]);
  return z.object({
    dish,
    without: z.string().optional().describe("Anything you would rather not eat"),
  });
}

export const planDinner = createMcpTool("plan_dinner")
  .title("Plan a dinner")
  .description("Suggests two dishes, lets the person choose, and writes the shopping list.")
  .parameters(z.object({
    guests: z.int().min(1).max(20).describe("How many people will eat"),
    wishes: z.string().default("none").describe("What to keep in mind, such as a diet"),
  }))
  .output(z.object({
    dish: z.string(),
    chosenBy: z.enum(["person", "nobody"]).describe("Nobody: the person did not answer in time"),
    shoppingList: z.string(),
  }))
  .elicits({
    choose: {
      response: z.object({
        dish: z.enum(["first", "second"]),
        without: z.string().optional().describe("Anything you would rather not eat"),
      }),
      context: z.object({ first: z.string(), second: z.string() }),
    },
  })
  .requires({ elicitation: true })
  .execute(function* ({ guests, wishes }, ctx) {
    if (!ctx.canSample) {
      // Fail before asking, so that the person does not answer for nothing.
      const wayOut = "use a client that does, or configure a model for the server (PARLEY_MODEL)";
      throw new CapabilityError("sampling", ctx.client.name, wayOut);
    }
    // Each branch has its own conversation, so that one suggestion does not copy the other.
    const suggest = (kind: string) =>
      ctx.branch(function* (branch) {
        const prompt =
          `Name one ${kind} dish for ${guests} people (wishes: ${wishes}). Only its name.`;
        const { text } = yield* branch.sample({ prompt, maxTokens: 50 });
        return dishName(text);
      });

    yield* ctx.notify("Thinking of two dishes", 0, 2);
    const [first, second] = yield* all([suggest("quick"), suggest("festive")]);

    const choice = yield* ctx.elicit(
      "choose",
      { message: `Which dish shall it be: ${first}, or ${second}?`, first, second },
      { response: dishForm(first, second), timeout: FIVE_MINUTES },
    );
    if (choice.action === "decline" || choice.action === "cancel") {
      throw new ToolError("The person wants neither dish; ask them what they would like instead.");
    }
    // Without an answer, take the first dish: it is the quick one.
    const dish = choice.action === "accept" && choice.content.dish === "second" ? second : first;

    yield* ctx.notify(`Writing the shopping list for ${dish}`, 1, 2);
    const { text } = yield* ctx.sample({
      messages: [
        { role: "user", content: `Plan a dinner for ${guests} people (wishes: ${wishes}).` },
        // Adds the person's choice as a tool call of the model, with its result.
        ...(choice.action === "accept" ? choice.exchange.withArguments((dishes) => dishes) : []),
        { role: "user", content: `Write the shopping list for ${dish}, one item per line.` },
      ],
    });
    const chosenBy = choice.action === "accept" ? "person" as const : "nobody" as const;
    return { dish, chosenBy, shoppingList: text };
  });
