/** Tools that the tests of the modern era call, and a wait that a test ends by hand. */
import { action, type Operation } from "effection";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";

/** Whoever comes here waits until the test opens it. */
export class Gate {
  readonly #waiting = new Set<() => void>();
  #open = false;
  /** How often somebody was turned away by a halt. */
  left = 0;

  get waiting(): number {
    return this.#waiting.size;
  }

  pass(): Operation<void> {
    return action<void>((resolve) => {
      let passed = false;
      const go = () => {
        passed = true;
        this.#waiting.delete(go);
        resolve();
      };
      if (this.#open) go();
      else this.#waiting.add(go);
      return () => {
        if (!passed) this.left++;
        this.#waiting.delete(go);
      };
    });
  }

  /** Lets everybody through, from now on. */
  open(): void {
    this.#open = true;
    for (const go of [...this.#waiting]) go();
  }
}

const name = { name: { response: z.object({ name: z.string().min(2) }) } };

/** Asks for a name. */
export const greet = createMcpTool("greet").description("Greets")
  .parameters(z.object({ greeting: z.string().optional(), more: z.unknown().optional() }))
  .elicits(name)
  .execute(function* ({ greeting = "Hello" }, ctx) {
    const answer = yield* ctx.elicit("name", { message: "Who?" });
    return answer.action === "accept" ? `${greeting}, ${answer.content.name}!` : answer.action;
  });

/** Asks for a number of names, one after the other. */
export const greetAll = createMcpTool("greet_all").description("Greets several")
  .parameters(z.object({ count: z.int() }))
  .elicits(name)
  .execute(function* ({ count }, ctx) {
    const names: string[] = [];
    while (names.length < count) {
      const answer = yield* ctx.elicit("name", { message: `Who is number ${names.length + 1}?` });
      names.push(answer.action === "accept" ? answer.content.name : answer.action);
    }
    return `Hello, ${names.join(" and ")}!`;
  });

/** Answers at once. */
export const echo = createMcpTool("echo").description("Says what it hears")
  .parameters(z.object({ text: z.string() }))
  .execute(function* ({ text }) {
    return text;
  });
