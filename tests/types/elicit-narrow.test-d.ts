// What the compiler checks about a narrower form for one question. Checked, never run.
import { z } from "zod";
import { createMcpTool } from "../../src/mod.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
function holds<T extends true>(): T | void {}

const CELLS = ["1", "2", "3"] as const;

createMcpTool("t").description("d")
  .elicits({
    pick: {
      response: z.object({ cell: z.enum(CELLS), note: z.string().optional() }),
      context: z.object({ board: z.string() }),
    },
    confirm: { response: z.object({ sure: z.boolean() }) },
  })
  .execute(function* (_params, ctx) {
    const ask = { message: "?", board: "" };
    const narrower = z.object({ cell: z.enum(["1", "2"]) });

    const picked = yield* ctx.elicit("pick", ask, { response: narrower });
    holds<Equal<(typeof picked)["action"], "accept" | "decline" | "cancel">>();
    if (picked.action === "accept") {
      // The answer is what the narrower form accepts.
      holds<Equal<typeof picked.content, { cell: "1" | "2" }>>();
      holds<Equal<typeof picked.exchange.context, { board: string }>>();
    }

    const timed = yield* ctx.elicit("pick", ask, { response: narrower, timeout: 5 });
    holds<Equal<(typeof timed)["action"], "accept" | "decline" | "cancel" | "timeout">>();
    if (timed.action === "accept") holds<Equal<typeof timed.content, { cell: "1" | "2" }>>();

    // Choices that are only known at run time keep the type of the declared ones.
    const left = CELLS.filter((cell) => cell !== "2");
    const some = yield* ctx.elicit("pick", ask, { response: z.object({ cell: z.enum(left) }) });
    if (some.action === "accept") holds<Equal<typeof some.content.cell, "1" | "3">>();

    // @ts-expect-error a choice that the declared form does not have
    yield* ctx.elicit("pick", ask, { response: z.object({ cell: z.enum(["1", "4"]) }) });
    // @ts-expect-error a field that the declared form needs is missing
    yield* ctx.elicit("pick", ask, { response: z.object({ note: z.string() }) });
    // @ts-expect-error a field of another type
    yield* ctx.elicit("confirm", { message: "?" }, { response: z.object({ sure: z.string() }) });
    // @ts-expect-error there is no such option
    yield* ctx.elicit("confirm", { message: "?" }, { respons: z.object({ sure: z.boolean() }) });
    // @ts-expect-error the context is missing
    yield* ctx.elicit("pick", { message: "?" }, { response: narrower });
  });
