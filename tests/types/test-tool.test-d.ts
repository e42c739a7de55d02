// What the compiler checks about the test kit. Checked, never run.
import { z } from "zod";
import { createMcpTool, testTool } from "../../src/mod.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
function holds<T extends true>(): T | void {}

const half = createMcpTool("t").description("d")
  .parameters(z.object({ to: z.string(), seats: z.number().default(1) }));

const plain = half.execute(function* ({ to }) {
  return to;
});

const asking = half
  .output(z.object({ booked: z.boolean() }))
  .elicits({
    pick: { response: z.object({ cell: z.number(), sure: z.boolean().default(true) }) },
    confirm: { response: z.object({ ok: z.boolean() }), context: z.object({ sum: z.number() }) },
  })
  .execute(function* () {
    return { booked: true };
  });

// ------------------------------------------------------------------ parameters

await testTool(plain, { to: "Rome" });
await testTool(plain, { to: "Rome", seats: 2 });
// @ts-expect-error a parameter is missing
await testTool(plain, {});
// @ts-expect-error a parameter of another type
await testTool(plain, { to: 5 });
// @ts-expect-error there is no such parameter
await testTool(plain, { to: "Rome", from: "Oslo" });

// --------------------------------------------------------------------- scripts

await testTool(asking, { to: "Rome" }, {
  elicit: {
    pick: [{ action: "accept", content: { cell: 1 } }, "decline", "cancel", "timeout"],
    confirm: ({ params }, nth) =>
      nth === 0 ? "decline" : {
        action: "accept",
        content: { ok: params.message !== "" },
      },
  },
  elicitUrl: "accept",
  sample: ["text", { role: "assistant", content: "text", model: "m" }, { timeout: true }],
});
await testTool(asking, { to: "Rome" }, {
  elicit: { pick: () => Promise.resolve({ error: { code: -1, message: "no" } }) },
});
// @ts-expect-error there is no such question
await testTool(asking, { to: "Rome" }, { elicit: { pik: "decline" } });
// @ts-expect-error a tool without questions is asked none
await testTool(plain, { to: "Rome" }, { elicit: { pick: "decline" } });
await testTool(asking, { to: "Rome" }, {
  // @ts-expect-error an answer of another type
  elicit: { pick: { action: "accept", content: { cell: "1" } } },
});
await testTool(asking, { to: "Rome" }, {
  // @ts-expect-error an accepted answer has content
  elicit: { pick: { action: "accept" } },
});
// @ts-expect-error there is no such answer
await testTool(asking, { to: "Rome" }, { elicit: { pick: "accept" } });
// @ts-expect-error there is no such answer
await testTool(asking, { to: "Rome" }, { elicitUrl: "yes" });

// --------------------------------------------------------------------- results

const run = await testTool(asking, { to: "Rome" });
holds<Equal<typeof run.structured, { booked: boolean }>>();
// @ts-expect-error the output has no such field
void run.structured.paid;
const text: string = run.text;
void text;
