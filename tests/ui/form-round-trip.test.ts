import assert from "node:assert/strict";
import fc from "fast-check";
import { readForm } from "../../src/ui/form-data.ts";
import { fieldsHtml } from "../../src/ui/form-html.ts";
import { formFields } from "../../src/ui/form.ts";
import { describe, it } from "../suite.ts";

const unescaped = (text: string) =>
  text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));

/** What a browser would send if the person changed nothing. */
function sent(html: string): URLSearchParams {
  const form = new URLSearchParams();
  const controls =
    /<input ([^>]*)>|<textarea ([^>]*)>\n([^<]*)<\/textarea>|<select ([^>]*)>(.*?)<\/select>/gs;
  const attribute = (text: string, name: string) => {
    const [, value] = new RegExp(`\\b${name}="([^"]*)"`).exec(text) ?? [];
    return value === undefined ? "" : unescaped(value);
  };
  for (const [, input, area, text = "", select, options = ""] of html.matchAll(controls)) {
    if (area !== undefined) {
      form.append(attribute(area, "name"), unescaped(text).replaceAll("\n", "\r\n"));
    } else if (select !== undefined) {
      const [, chosen = ""] = /<option value="(\d+)" selected>/.exec(options) ?? [];
      form.append(attribute(select, "name"), chosen);
    } else {
      const isChoice = /type="(?:radio|checkbox)"/.test(input!);
      if (!isChoice || / checked/.test(input!)) {
        form.append(attribute(input!, "name"), attribute(input!, "value"));
      }
    }
  }
  return form;
}

const text = fc.string({ unit: "grapheme" }).map((value) => value.replaceAll("\r", ""));
const choices = fc.uniqueArray(text, { minLength: 1, maxLength: 12 });
const date = fc.date({
  min: new Date("1000-01-01T00:00:00Z"),
  max: new Date("9999-12-31T00:00:00Z"),
  noInvalidDate: true,
}).map((value) => value.toISOString());

/** A field with a default, which is its answer if nothing is changed. */
const field = fc.oneof(
  text.map((value) => ({ type: "string", default: value })),
  text.map((value) => ({ type: "string", maxLength: 5_000, default: value })),
  // JSON has no negative zero.
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => ({
    type: "number",
    default: value + 0,
  })),
  fc.maxSafeInteger().map((value) => ({ type: "integer", default: value })),
  fc.boolean().map((value) => ({ type: "boolean", default: value })),
  choices.map((values) => ({ type: "string", enum: values, default: values.at(-1) })),
  choices.map((values) => ({
    type: "string",
    oneOf: values.map((value) => ({ const: value, title: `<${value}>` })),
    default: values[0],
  })),
  choices.map((values) => ({
    type: "array",
    items: { type: "string", enum: values },
    default: values.slice(1),
  })),
  date.map((value) => ({ type: "string", format: "date", default: value.slice(0, 10) })),
  fc.tuple(
    date,
    fc.constantFrom("", ".5", ".050", ".123456789"),
    fc.constantFrom("Z", "+02:00", "-11:30"),
  ).map(([value, fraction, zone]) => ({
    type: "string",
    format: "date-time",
    default: value.slice(0, 19) + fraction + zone,
  })),
);

describe("a form that nobody changes", () => {
  it("is answered with its defaults, whatever its fields are called", () => {
    fc.assert(fc.property(fc.dictionary(text, field, { maxKeys: 6 }), (properties) => {
      const fields = formFields({ type: "object", properties });
      const { content, problems } = readForm(fields, sent(fieldsHtml(fields)));
      assert.deepEqual(problems, []);
      const expected = Object.entries(properties).map(([name, one]) => [name, one.default]);
      assert.deepEqual(Object.entries(content), expected);
    }));
  });

  it("keeps the fractions of a time, though browsers shorten what they send", () => {
    const at = (value: string) =>
      formFields({
        type: "object",
        properties: { at: { type: "string", format: "date-time", default: value } },
      });
    const read = (fields: ReturnType<typeof at>, local: string, zone = "Z") =>
      readForm(fields, new URLSearchParams([["f0", local], ["f0", zone]])).content.at;
    const fields = at("2026-07-01T09:30:00.120000Z");
    assert.match(fieldsHtml(fields), /value="2026-07-01T09:30:00\.120"/);
    assert.equal(read(fields, "2026-07-01T09:30:00.12"), "2026-07-01T09:30:00.120000Z");
    assert.equal(read(fields, "2026-07-01T09:30:00.5"), "2026-07-01T09:30:00.5Z");
    assert.equal(read(fields, "2026-07-01T09:30"), "2026-07-01T09:30:00Z");
    assert.equal(read(fields, "2026-07-01T09:30:00.12", "+02:00"), "2026-07-01T09:30:00.12+02:00");
  });

  it("is the same after it was shown again with what was entered", () => {
    fc.assert(fc.property(fc.dictionary(text, field, { maxKeys: 6 }), (properties) => {
      const fields = formFields({ type: "object", properties });
      const first = readForm(fields, sent(fieldsHtml(fields)));
      const again = readForm(fields, sent(fieldsHtml(fields, { entered: first.entered })));
      assert.deepEqual(again.content, first.content);
    }));
  });
});
