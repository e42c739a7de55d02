/** The model suggests, the person chooses, and the model writes the shopping list. */
import { all } from "effection";
import { createMcpTool, ToolError } from "parley-mcp";
import { z } from "zod";

const FIVE_MINUTES = 5 * 60_000;

export const planDinner = createMcpTool("plan_dinner")
  .title("Plan a dinner")
  .description("Suggests two dishes, lets the person choose, and writes the shopping list.")
  .parameters(z.object({
    guests: z.int().min(1).max(20).describe("How many people will eat"),
    wishes: z.string().default("none").describe("What to keep in mind, such as a diet"),
  }))
  .output(z.object({ dish: z.string(), shoppingList: z.string() }))
  .elicits({
    choose: {
      response: z.object({
        dish: z.enum(["first", "second"]),
        without: z.string().optional().describe("Anything you would rather not eat"),
      }),
      context: z.object({ first: z.string(), second: z.string() }),
    },
  })
  .execute(function* ({ guests, wishes }, ctx) {
    // A branch has a conversation of its own, so that neither suggestion copies the other.
    const suggest = (kind: string) =>
      ctx.branch(function* (branch) {
        const prompt =
          `Name one ${kind} dish for ${guests} people (wishes: ${wishes}). Only its name.`;
        const { text } = yield* branch.sample({ prompt, maxTokens: 50 });
        return text.trim();
      });

    yield* ctx.notify("Thinking of two dishes", 0, 2);
    const [first, second] = yield* all([suggest("quick"), suggest("festive")]);

    const choice = yield* ctx.elicit(
      "choose",
      { message: `Which shall it be?\n1. ${first}\n2. ${second}`, first, second },
      { timeout: FIVE_MINUTES },
    );
    if (choice.action === "decline" || choice.action === "cancel") {
      throw new ToolError("The person wants neither dish; ask them what they would like instead.");
    }
    // Nobody there to choose: the quick one does no harm.
    const dish = choice.action === "accept" && choice.content.dish === "second" ? second : first;

    yield* ctx.notify(`Writing the shopping list for ${dish}`, 1, 2);
    const { text } = yield* ctx.sample({
      messages: [
        { role: "user", content: `Help ${guests} people to a dinner (wishes: ${wishes}).` },
        // What was on offer and what was chosen, as the model would have asked it.
        ...(choice.action === "accept" ? choice.exchange.withArguments((dishes) => dishes) : []),
        { role: "user", content: `Write the shopping list for ${dish}, one item per line.` },
      ],
    });
    return { dish, shoppingList: text };
  });
