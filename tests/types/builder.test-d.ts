// What the compiler checks about the builder: each line marked @ts-expect-error must not
// compile, and everything else must. Checked, never run.
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { createMcpTool, type FinalizedMcpTool, type JsonObject } from "../../src/mod.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
function holds<T extends true>(): T | void {}

/** What callers of a tool pass, and its result. */
type Input<T> = T extends FinalizedMcpTool<string, infer I> ? I : never;
type Result<T> = T extends FinalizedMcpTool<string, infer _, infer R> ? R : never;

const described = createMcpTool("t").description("d");

// ------------------------------------------------------------------ parameters

const withDefaults = described
  .parameters(z.object({
    to: z.string(),
    seats: z.number().default(1),
    by: z.iso.date().transform((day) => new Date(day)).optional(),
  }))
  .execute(function* (params) {
    // The body gets what the schema parses.
    holds<Equal<typeof params, { to: string; seats: number; by?: Date | undefined }>>();
    // @ts-expect-error there is no such parameter
    void params.from;
    return params.to;
  });
// A caller passes the schema's input.
holds<
  Equal<
    Input<typeof withDefaults>,
    { to: string; seats?: number | undefined; by?: string | undefined }
  >
>();
holds<Equal<(typeof withDefaults)["name"], "t">>();

const zod3 = described.parameters(z3.object({ n: z3.number().default(1) })).execute(
  function* ({ n }) {
    holds<Equal<typeof n, number>>();
  },
);
holds<Equal<Input<typeof zod3>, { n?: number | undefined }>>();

described.parameters({ type: "object", properties: { n: { type: "number" } } }).execute(
  function* (params) {
    holds<Equal<typeof params, JsonObject>>();
  },
);

described.execute(function* (params) {
  // @ts-expect-error a tool without parameters gets none
  const to: string = params.to;
  void to;
});

// ---------------------------------------------------------------------- output

const output = described.output(z.object({ n: z.number(), note: z.string().default("") }));

const structured = output.execute(function* () {
  return { n: 1 };
});
holds<Equal<Result<typeof structured>, { n: number; note: string }>>();

output.execute(function* () {
  return { content: [{ type: "text", text: "one" }], structuredContent: { n: 1 } };
});
output.execute(function* () {
  return { content: [{ type: "text", text: "sold out" }], isError: true };
});
// @ts-expect-error a field of another type
output.execute(function* () {
  return { n: "1" };
});
// @ts-expect-error a string is no such object
output.execute(function* () {
  return "one";
});
// @ts-expect-error nothing is no such object
output.execute(function* () {});
// @ts-expect-error a full result must hold the data, or say that it failed
output.execute(function* () {
  return { content: [] };
});

// -------------------------------------------------- what a tool without output may return

for (const value of ["a", 1, true, null, undefined, { a: 1 }, [{ type: "text", text: "a" }]]) {
  described.execute(function* () {
    return value;
  });
}

// --------------------------------------------------------------- each thing once

// @ts-expect-error description() is already set
described.description("again");
// @ts-expect-error parameters() is already set
described.parameters(z.object({})).parameters(z.object({}));
// @ts-expect-error output() is already set
output.output(z.object({}));
// @ts-expect-error elicits() is already set
described.elicits({}).elicits({});
// These may be set again; the last one counts.
described.title("a").title("b").limits({}).limits({ timeout: 1 });

// @ts-expect-error description() is missing
createMcpTool("t").execute(function* () {});
// @ts-expect-error description() is missing
createMcpTool("t").handoff({ *before() {}, *client() {}, *after() {} });

// ------------------------------------------------------------------ the other parts

// @ts-expect-error there is no such limit
described.limits({ timout: 1 });
// @ts-expect-error a limit is a number
described.limits({ timeout: "1" });
// @ts-expect-error there is no such capability
described.requires({ elicitaton: true });
// @ts-expect-error an async function is no operation
described.execute(async () => await Promise.resolve("a"));
// @ts-expect-error a question needs a form
described.elicits({ q: {} });
