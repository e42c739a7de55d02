// What the compiler checks about the context. Checked, never run.
import { all, type Operation } from "effection";
import { z } from "zod";
import {
  createMcpTool,
  type ElicitExchange,
  type McpMessage,
  type McpToolServerContext,
} from "../../src/mod.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
function holds<T extends true>(): T | void {}

const described = createMcpTool("t").description("d");

const asking = described.elicits({
  pick: {
    response: z.object({ cell: z.number(), sure: z.boolean().default(true) }),
    context: z.object({ board: z.string(), moves: z.array(z.number()).default([]) }),
  },
  confirm: { response: z.object({ ok: z.boolean() }) },
});

asking.execute(function* (_params, ctx) {
  // ---------------------------------------------------------------- questions
  // @ts-expect-error there is no such question
  yield* ctx.elicit("pik", { message: "?" });
  // @ts-expect-error the context is missing
  yield* ctx.elicit("pick", { message: "?" });
  // @ts-expect-error the context is of another type
  yield* ctx.elicit("pick", { message: "?", board: 5 });
  // @ts-expect-error the context has no such field
  yield* ctx.elicit("pick", { message: "?", board: "", stray: 1 });
  // @ts-expect-error this question has no context
  yield* ctx.elicit("confirm", { message: "?", board: "" });
  // @ts-expect-error the message is missing
  yield* ctx.elicit("confirm", {});
  // @ts-expect-error there is no such option
  yield* ctx.elicit("confirm", { message: "?" }, { timout: 5 });

  // ------------------------------------------------------------------ answers
  const pick = yield* ctx.elicit("pick", { message: "?", board: "" });
  holds<Equal<(typeof pick)["action"], "accept" | "decline" | "cancel">>();
  // @ts-expect-error only an accepted answer has content
  void pick.content;
  // @ts-expect-error without a timeout there is none
  if (pick.action === "timeout") return;
  if (pick.action === "accept") {
    holds<Equal<typeof pick.content, { cell: number; sure: boolean }>>();
    // @ts-expect-error the form has no such field
    void pick.content.row;
    pick.exchange.withArguments(({ board, moves }) => {
      holds<Equal<typeof board, string>>();
      return { board, moveNumber: moves?.length };
    });
    // @ts-expect-error the context has no such field
    pick.exchange.withArguments(({ row }) => ({ row }));
    const messages: McpMessage[] = [...pick.exchange.messages];
    holds<Equal<(typeof pick.exchange.request.content)[0]["type"], "tool_use">>();
    void messages;
  } else {
    // @ts-expect-error a refusal has no exchange
    void pick.exchange;
  }

  const timed = yield* ctx.elicit("confirm", { message: "?" }, { timeout: 5 });
  holds<Equal<(typeof timed)["action"], "accept" | "decline" | "cancel" | "timeout">>();

  const visit = yield* ctx.elicitUrl({ message: "?", url: "https://example.com" });
  holds<Equal<(typeof visit)["action"], "accept" | "decline" | "cancel">>();
  const timedVisit = yield* ctx.elicitUrl({ message: "?", url: new URL("https://example.com") }, {
    timeout: 5,
  });
  holds<Equal<(typeof timedVisit)["action"], "accept" | "decline" | "cancel" | "timeout">>();
  // @ts-expect-error a page needs a message
  yield* ctx.elicitUrl({ url: "https://example.com" });

  // ------------------------------------------------------------------ samples
  const said: string = (yield* ctx.sample({ prompt: "?" })).text;
  yield* ctx.sample({ messages: [{ role: "user", content: said }], maxTokens: 5 });
  // @ts-expect-error either a prompt or messages
  yield* ctx.sample({ prompt: "?", messages: [] });
  // @ts-expect-error either a prompt or messages
  yield* ctx.sample({ maxTokens: 5 });

  // ----------------------------------------------------------------- branches
  const answers = yield* all([
    ctx.branch((branch) => branch.elicit("confirm", { message: "?" })),
    ctx.branch(function* (branch) {
      // @ts-expect-error there is no such question in a branch either
      yield* branch.elicit("pik", { message: "?" });
      const inner = yield* branch.branch((deeper) =>
        deeper.elicit("pick", { message: "?", board: "" })
      );
      return inner.action === "accept" ? inner.content.cell : undefined;
    }, { timeout: 5, messages: [{ role: "user", content: "hi" }] }),
  ]);
  holds<Equal<(typeof answers)[1], number | undefined>>();
  // @ts-expect-error there is no such option
  yield* ctx.branch(function* () {}, { maxTime: 5 });

  const [confirmed, cell, deep] = yield* ctx.branches([
    (branch) => branch.elicit("confirm", { message: "?" }),
    function* (branch) {
      const inner = yield* branch.elicit("pick", { message: "?", board: "" });
      return inner.action === "accept" ? inner.content.cell : undefined;
    },
    (branch) =>
      branch.branches([function* () {
        return "deep";
      }]),
  ], { timeout: 5 });
  holds<Equal<typeof confirmed, (typeof answers)[0]>>();
  holds<Equal<typeof cell, number | undefined>>();
  holds<Equal<typeof deep, [string]>>();
  const many = yield* ctx.branches([1, 2].map((n) =>
    function* (branch: typeof ctx) {
      yield* branch.notify("one of many");
      return n;
    }
  ));
  holds<Equal<typeof many, number[]>>();
  // @ts-expect-error there is no such question in these branches either
  yield* ctx.branches([(branch) => branch.elicit("pik", { message: "?" })]);
  // @ts-expect-error these are operations, not what makes them
  yield* ctx.branches([ctx.notify("?")]);
  // @ts-expect-error there is no such option
  yield* ctx.branches([function* () {}], { maxTime: 5 });

  // @ts-expect-error the conversation is read-only
  ctx.messages.push({ role: "user", content: [] });
  // @ts-expect-error there is no such level
  yield* ctx.log("loud", "hi");
  return answers[1];
});

described.execute(function* (_params, ctx) {
  // @ts-expect-error this tool declares no questions
  yield* ctx.elicit("pick", { message: "?" });
});

// -------------------------------------------------------------------- handoff

asking.parameters(z.object({ to: z.string() })).output(z.object({ n: z.number() })).handoff({
  *before({ to }, ctx) {
    holds<Equal<typeof ctx, McpToolServerContext>>();
    // @ts-expect-error before cannot ask
    yield* ctx.elicit("confirm", { message: "?" });
    // @ts-expect-error before cannot ask the model either
    yield* ctx.sample({ prompt: "?" });
    return { to, price: 5 };
  },
  *client(handoff, ctx) {
    holds<Equal<typeof handoff, { to: string; price: number }>>();
    const { action } = yield* ctx.elicit("confirm", { message: handoff.to });
    return action;
  },
  *after(handoff, action, ctx) {
    holds<Equal<typeof action, "accept" | "decline" | "cancel">>();
    // @ts-expect-error after cannot ask
    yield* ctx.elicit("confirm", { message: "?" });
    return { n: handoff.price };
  },
});

asking.output(z.object({ n: z.number() })).handoff({
  *before() {},
  *client() {},
  // @ts-expect-error after makes the result, which output() describes
  *after() {
    return "five";
  },
});

// ------------------------------------------------- questions that are handed around

/** An exchange keeps its types when it is passed to a helper. */
export function* remember(
  { context, messages }: ElicitExchange<{ board: string }, { cell: number }>,
): Operation<string> {
  void messages;
  return context.board;
}
