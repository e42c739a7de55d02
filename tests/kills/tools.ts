/**
 * Two tools that use every feature, and an outside world that counts the effects by
 * their idempotency keys.
 *
 * Until a client has something to name its call by (a `requestState`, an event id), it
 * can only call again, which is another call. So `order` asks first, and has its effects
 * after that. `lease` has one effect before: for an abandoned call it happens once, in
 * vain.
 */
import { appendFileSync } from "node:fs";
import { all, type Operation } from "effection";
import { z } from "zod";
import { createMcpTool } from "../../src/tool/builder.ts";
import type { McpToolContextWithElicits } from "../../src/tool/types.ts";
import type { KillPoints } from "./kill-points.ts";

/** The effects on the outside world so far. */
export interface Effect {
  readonly flow: string;
  readonly key: string;
  readonly name: string;
  readonly data: unknown;
}

const form = <T extends z.ZodRawShape>(shape: T) => ({ response: z.object(shape) });

const questions = {
  who: form({ name: z.string() }),
  card: { ...form({ card: z.string(), holder: z.string() }), sensitive: ["card"] },
  size: form({ size: z.number() }),
  colour: form({ colour: z.string() }),
  more: form({ item: z.string() }),
};

const parameters = z.object({ flow: z.string() });
type Params = z.infer<typeof parameters>;
type Context = McpToolContextWithElicits<typeof questions>;

export function makeTools(points: KillPoints, effectsPath: string) {
  /**
   * Has an effect on the outside world, between two points at which it is done but not recorded.
   */
  function effect(flow: string, name: string, data: unknown = null) {
    return function* (key: string): Operation<string> {
      points.pass(flow, `before the effect of ${name}`);
      const effect: Effect = { flow, key, name, data };
      appendFileSync(effectsPath, `${JSON.stringify(effect)}\n`);
      points.pass(flow, `after the effect of ${name}`);
      return `${name} is done`;
    };
  }

  function* order({ flow }: Params, ctx: Context) {
    const at = points.around(flow);
    const who = contentOf(yield* at("who", ctx.elicit("who", { message: "Who is it for?" })));
    const number = yield* at("uuid", ctx.uuid());
    const since = yield* at("now", ctx.now());
    const luck = yield* at("random", ctx.random());
    const made = { number, since, luck };
    const done = [yield* at("hold", ctx.step("hold", effect(flow, "hold", made)))];
    yield* at("notify", ctx.notify("it is held", 1, 3));
    yield* at("log", ctx.log("info", { held: true }));
    const card = contentOf(yield* at("card", ctx.elicit("card", { message: "Which card?" })));
    const digits = card.card.slice(-4);
    done.push(yield* at("pay", ctx.step("pay", effect(flow, "pay", { number, digits }))));
    try {
      yield* at("fail", ctx.step("fail", failing(effect(flow, "fail"))));
    } catch (error) {
      done.push((error as Error).message);
    }
    const { text } = yield* at("sample", ctx.sample({ prompt: "A line, please", maxTokens: 50 }));
    yield* at("sleep", ctx.sleep(3));
    const parts = yield* at(
      "branches",
      all([
        ctx.branch(function* (inner) {
          const { size } = contentOf(yield* at("size", inner.elicit("size", { message: "Size?" })));
          yield* at("cut", inner.step("cut", effect(flow, "cut", { size })));
          return size;
        }),
        ctx.branch(function* (inner) {
          const answer = yield* at("colour", inner.elicit("colour", { message: "Colour?" }));
          const { colour } = contentOf(answer);
          yield* at("dye", inner.step("dye", effect(flow, "dye", { colour })));
          return colour;
        }),
      ]),
    );
    yield* at("notify again", ctx.notify("it is made", 2, 3));
    for (let n = 0;; n++) {
      const more = yield* at(`more ${n}`, ctx.elicit("more", { message: `More, besides ${n}?` }));
      if (more.action !== "accept") break;
      const { item } = more.content;
      done.push(yield* at(`add ${n}`, ctx.step("add", effect(flow, `add ${n}`, { item }))));
    }
    done.push(yield* at("ship", ctx.step("ship", effect(flow, "ship", made))));
    return { who: who.name, holder: card.holder, digits, text, parts, done, ...made };
  }

  const leasing = (name: string) =>
    createMcpTool(name).description("Leases something, in three phases").parameters(parameters)
      .elicits(questions).durable();

  const lease = (tool: ReturnType<typeof leasing>) =>
    tool.handoff({
      *before({ flow }, ctx) {
        const at = points.around(flow);
        const made = {
          number: yield* at("uuid", ctx.uuid()),
          since: yield* at("now", ctx.now()),
          luck: yield* at("random", ctx.random()),
        };
        const held = yield* at("hold", ctx.step("hold", effect(flow, "hold", made)));
        return { flow, made, held };
      },
      *client({ flow, made, held }, ctx) {
        const at = points.around(flow);
        const who = contentOf(yield* at("who", ctx.elicit("who", { message: "Who is it for?" })));
        yield* at("notify", ctx.notify("we know who", 1, 2));
        const { text } = yield* at("sample", ctx.sample({ prompt: "A line", maxTokens: 50 }));
        const signed = yield* at("sign", ctx.step("sign", effect(flow, "sign", { made, text })));
        const card = contentOf(yield* at("card", ctx.elicit("card", { message: "Which card?" })));
        return {
          who: who.name,
          holder: card.holder,
          digits: card.card.slice(-4),
          text,
          done: [held, signed],
        };
      },
      *after({ flow, made }, { done, ...talked }, ctx) {
        const at = points.around(flow);
        const { digits } = talked;
        const charged = yield* at("pay", ctx.step("pay", effect(flow, "pay", { digits })));
        yield* at("notify again", ctx.notify("it is paid", 2, 2));
        const shipped = yield* at("ship", ctx.step("ship", effect(flow, "ship", made)));
        return { ...talked, done: [...done, charged, shipped], ...made };
      },
    });

  const ordering = createMcpTool("order").description("Orders something, and asks a lot")
    .parameters(parameters).elicits(questions).durable();

  return [
    ordering.execute(order),
    lease(leasing("lease")),
    lease(leasing("lease_as_task").task({ ttl: 600_000, pollInterval: 10 })),
  ];
}

function failing(body: (key: string) => Operation<unknown>) {
  return function* (key: string): Operation<never> {
    yield* body(key);
    throw new Error("it is sold out");
  };
}

function contentOf<T>(answer: { action: string; content?: T }): T {
  if (answer.action !== "accept") throw new Error(`The person said ${answer.action}`);
  return answer.content!;
}
