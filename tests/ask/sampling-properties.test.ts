/** `sampleSchema` returns a value that the schema accepts, or throws `SampleValidationError`. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { z } from "zod";
import { SampleValidationError, type ScriptedSample } from "../../src/mod.ts";
import { describe, it } from "../suite.ts";
import {
  calls,
  modern,
  sampling,
  scriptedProvider,
  use,
  WITH_TOOLS,
  WITHOUT_SAMPLING,
  WITHOUT_TOOLS,
} from "./sampling-kit.ts";

/** A schema and values that it accepts. */
interface Kind {
  readonly schema: z.ZodType;
  readonly value: fc.Arbitrary<unknown>;
}

const names = fc.constantFrom("a", "b", "value", "tool", "arguments", "name", "__proto__", "ü");

const { kind } = fc.letrec<{ kind: Kind; leaf: Kind }>((tie) => ({
  leaf: fc.oneof(
    fc.constant({ schema: z.string(), value: fc.string() }),
    fc.constant({
      schema: z.string().min(2).max(5),
      value: fc.string({ minLength: 2, maxLength: 5 }),
    }),
    fc.constant({ schema: z.int().min(-5).max(5), value: fc.integer({ min: -5, max: 5 }) }),
    fc.constant({ schema: z.number(), value: fc.double({ noNaN: true, noDefaultInfinity: true }) }),
    fc.constant({ schema: z.boolean(), value: fc.boolean() }),
    fc.constant({ schema: z.null(), value: fc.constant(null) }),
    fc.constant({ schema: z.enum(["x", "y"]), value: fc.constantFrom("x", "y") }),
    fc.constant({ schema: z.literal(7), value: fc.constant(7) }),
    fc.constant({ schema: z.email(), value: fc.constant("a@example.com") }),
    fc.constant({ schema: z.iso.date(), value: fc.constant("2026-11-16") }),
    fc.constant({ schema: z.unknown(), value: fc.jsonValue() }),
    fc.constant({ schema: z.string().default("d"), value: fc.string() }),
    fc.constant({
      schema: z.int().refine((n) => n % 2 === 0),
      value: fc.integer({ min: -50, max: 50 }).map((n) => n * 2),
    }),
    fc.constant({
      schema: z.string().refine((text) => {
        if (text.length > 3) throw new Error("a check that breaks");
        return true;
      }),
      value: fc.string({ maxLength: 3 }),
    }),
  ),
  kind: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("leaf"),
    tie("kind").map(({ schema, value }) => ({
      schema: z.array(schema).max(3),
      value: fc.array(value, { maxLength: 3 }),
    })),
    tie("kind").map(({ schema, value }) => ({
      schema: schema.nullable(),
      value: fc.option(value),
    })),
    tie("kind").map(({ schema, value }) => ({
      schema: z.record(z.string(), schema),
      value: fc.dictionary(fc.string(), value, { maxKeys: 3 }),
    })),
    fc.tuple(tie("kind"), tie("kind")).map(([one, two]) => ({
      schema: z.union([one.schema, two.schema]),
      value: fc.oneof(one.value, two.value),
    })),
    fc.tuple(tie("kind"), tie("kind")).map(([one, two]) => ({
      schema: z.tuple([one.schema, two.schema]),
      value: fc.tuple(one.value, two.value),
    })),
    fc.dictionary(names, fc.tuple(tie("kind"), fc.boolean()), { maxKeys: 3 }).map((fields) => {
      const entries = Object.entries(fields);
      return {
        schema: z.object(
          Object.fromEntries(
            entries.map(([name, [{ schema }, isOptional]]) => [
              name,
              isOptional ? schema.optional() : schema,
            ]),
          ),
        ),
        value: fc.record(Object.fromEntries(entries.map(([name, [it]]) => [name, it.value]))),
      };
    }),
  ),
})) as unknown as { kind: fc.Arbitrary<Kind> };

/** Answers of a model, some of them valid. */
function answers({ value }: Kind): fc.Arbitrary<ScriptedSample> {
  const any = fc.oneof(value, fc.jsonValue(), fc.record({ value }));
  const text = fc.oneof(
    fc.string(),
    any.map((it) => JSON.stringify(it) ?? ""),
    any.map((it) => `Sure!\n\`\`\`json\n${JSON.stringify(it)}\n\`\`\``),
    any.map((it) => `I say ${JSON.stringify(it)}, as in [1].`),
    any.map((it) => (JSON.stringify(it) ?? "").slice(0, -1)),
  );
  const object = any.map((it) => JSON.parse(JSON.stringify(it) ?? "null") ?? {})
    .map((it) => typeof it === "object" ? it : { value: it });
  const block = fc.oneof(
    object.map((input) => use("__schema__", input)),
    fc.tuple(fc.string(), object, fc.string()).map(([name, input, id]) => use(name, input, id)),
    text.map((text) => ({ type: "text" as const, text })),
    fc.constant({ type: "image" as const, data: "AA==", mimeType: "image/png" }),
    fc.constant({ type: "tool_result", toolUseId: "u1", content: [] } as never),
    fc.constant({ type: "thinking" } as never),
  );
  const stopReason = fc.constantFrom("endTurn", "toolUse", "maxTokens", "refusal", "odd");
  return fc.oneof(
    text,
    fc.tuple(fc.array(block, { maxLength: 3 }), stopReason).map(([content, stopReason]) => ({
      ...calls(...content),
      stopReason,
    })),
  );
}

const who = fc.constantFrom("client", "client in words", "provider");

describe("sampleSchema()", () => {
  it("returns a value that the schema accepts, or throws SampleValidationError", async () => {
    let fits = 0;
    let misfits = 0;
    const sampled = kind.chain((it) =>
      fc.tuple(fc.constant(it), fc.array(answers(it), { minLength: 1, maxLength: 3 }), who)
    );
    await fc.assert(
      fc.asyncProperty(sampled, async ([{ schema }, said, who]) => {
        const retries = said.length - 1;
        const provider = scriptedProvider(...said);
        const { error, ...rest } = await sampling(
          (ctx) => ctx.sampleSchema({ prompt: "?", schema, retries }),
          who === "provider"
            ? { client: modern(WITHOUT_SAMPLING), sampling: { provider } }
            : { client: who === "client" ? WITH_TOOLS : WITHOUT_TOOLS, sample: said },
        ).then((sampled) => ({
          error: sampled.error,
          ...(sampled.error === undefined && { value: sampled.value }),
        }));
        if (error !== undefined) {
          assert.ok(error instanceof SampleValidationError, String(error));
          assert.equal(error.attempts, said.length);
          misfits++;
          return;
        }
        const { parsed, exchange } = rest.value!;
        assert.ok(schema.safeParse(parsed).success, JSON.stringify(parsed));
        assert.equal(exchange.messages.length, 3);
        assert.deepEqual(exchange.parsed, parsed);
        fits++;
      }),
      { numRuns: 600 },
    );
    // A property test that never sees one of its two outcomes proves nothing.
    assert.ok(fits > 50 && misfits > 50, `${fits} fitted, ${misfits} did not`);
  }, { within: 120_000 });
});
