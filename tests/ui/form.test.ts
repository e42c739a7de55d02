import assert from "node:assert/strict";
import { readForm } from "../../src/ui/form-data.ts";
import { fieldsHtml } from "../../src/ui/form-html.ts";
import { formFields } from "../../src/ui/form.ts";
import { describe, it } from "../suite.ts";

type Properties = { readonly [name: string]: unknown };

const form = (properties: Properties, required: readonly string[] = []) => ({
  type: "object",
  properties,
  required,
});

/** Reads a posted form: what the fields become, and their problems. */
function read(properties: Properties, posted: string, required?: readonly string[]) {
  const fields = formFields(form(properties, required));
  const { content, problems } = readForm(fields, new URLSearchParams(posted));
  return { content, problems };
}

const content = (properties: Properties, posted: string, required?: readonly string[]) => {
  const outcome = read(properties, posted, required);
  assert.deepEqual(outcome.problems, []);
  return outcome.content;
};

const problem = (properties: Properties, posted: string, required?: readonly string[]) => {
  const [first, ...more] = read(properties, posted, required).problems;
  assert.deepEqual(more, []);
  return first?.message;
};

const html = (properties: Properties, required?: readonly string[]) =>
  fieldsHtml(formFields(form(properties, required)));

describe("formFields()", () => {
  it("reads every notation of choices", () => {
    const expected = [{ value: "a", label: "Ay" }, { value: "b", label: "Bee" }];
    const titled = [{ const: "a", title: "Ay" }, { const: "b", title: "Bee" }];
    const schemas = [
      { type: "string", enum: ["a", "b"], enumNames: ["Ay", "Bee"] },
      { type: "string", oneOf: titled },
      { type: "array", items: { anyOf: titled } },
      { type: "array", items: { oneOf: titled } },
    ];
    for (const schema of schemas) {
      const [field] = formFields(form({ x: schema }));
      assert.deepEqual(field?.choices, expected);
      assert.equal(field?.kind, schema.type === "array" ? "choices" : "choice");
    }
    const [plain] = formFields(form({ x: { type: "string", enum: ["a"] } }));
    assert.deepEqual(plain?.choices, [{ value: "a", label: "a" }]);
  });

  it("labels a field by its title, or by its name in words", () => {
    const names = ["seatRow", "seat_row", "seat-row", "URL", ""];
    const fields = formFields(form(Object.fromEntries(names.map((name) => [name, {}]))));
    assert.deepEqual(fields.map(({ label }) => label), [
      "Seat row",
      "Seat row",
      "Seat row",
      "URL",
      "Answer",
    ]);
    assert.equal(formFields(form({ x: { title: "Seat" } }))[0]?.label, "Seat");
  });

  it("ignores the integer bounds that Zod adds", () => {
    const [field] = formFields(form({
      x: { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: 9 },
    }));
    assert.equal(field?.min, undefined);
    assert.equal(field?.max, 9);
  });

  it("takes a schema without fields", () => {
    assert.deepEqual(formFields({ type: "object" }), []);
    assert.deepEqual(formFields(form({ x: true as never })).map(({ kind }) => kind), ["text"]);
  });
});

describe("fieldsHtml()", () => {
  it("escapes everything that a tool wrote", () => {
    const evil = `"'><script>alert(1)</script>`;
    const text = html({
      [evil]: { type: "string", title: evil, description: evil, default: evil },
      one: { type: "string", oneOf: [{ const: evil, title: evil }] },
      many: { type: "array", title: evil, items: { enum: [evil] } },
      long: { type: "string", maxLength: 1000, default: `</textarea>${evil}` },
    });
    assert.doesNotMatch(text, /<script|<\/textarea>&#34;|alert\(1\)<\/s/);
    assert.equal(text.split("</textarea>").length, 2);
  });

  it("connects labels, help and problems with their inputs", () => {
    const fields = formFields(form({ seat: { type: "string", description: "Such as 12A" } }));
    const text = fieldsHtml(fields, { problems: [{ field: "seat", message: "is taken" }] });
    assert.match(text, /<label for="f0">Seat/);
    assert.match(text, /aria-describedby="f0-help f0-problem" aria-invalid="true"/);
    assert.match(text, /<p class="problem" id="f0-problem">Is taken\.<\/p>/);
    assert.match(text, /role="alert".*<a href="#f0">Seat<\/a>: is taken/);
  });

  it("shows defaults, and what was entered instead of them", () => {
    const fields = formFields(form({
      text: { type: "string", default: "x" },
      count: { type: "integer", default: 0 },
      yes: { type: "boolean", default: true },
      one: { type: "string", enum: ["a", "b"], default: "b" },
      many: { type: "array", items: { type: "string", enum: ["a", "b"] }, default: ["a"] },
      at: { type: "string", format: "date-time", default: "2026-05-01T12:00:00+02:00" },
    }));
    const shown = fieldsHtml(fields);
    assert.match(shown, /name="f0" value="x"/);
    assert.match(shown, /name="f1" value="0"/);
    assert.match(shown, /name="f2" value="true" checked/);
    assert.match(shown, /name="f3" value="1" checked/);
    assert.match(shown, /name="f4" value="0" checked/);
    assert.match(shown, /name="f5" value="2026-05-01T12:00:00"/);
    assert.match(shown, /value="\+02:00"/);
    const { entered } = readForm(fields, new URLSearchParams("f0=y&f1=&f3=0"));
    const again = fieldsHtml(fields, { entered });
    assert.match(again, /name="f0" value="y"/);
    assert.match(again, /name="f1" value=""/);
    assert.match(again, /name="f2" value="true">/);
    assert.match(again, /name="f3" value="0" checked/);
    assert.doesNotMatch(again, /name="f4" value="0" checked/);
  });

  it("never shows a sensitive value, not even a default", () => {
    const fields = formFields(form({ pin: { type: "string", default: "0000" } }), ["pin"]);
    const { entered, content } = readForm(fields, new URLSearchParams("f0=1234"));
    assert.deepEqual(content, { pin: "1234" });
    for (const state of [{}, { entered }]) {
      const text = fieldsHtml(fields, state);
      assert.match(text, /type="password"/);
      assert.doesNotMatch(text, /0000|1234/);
    }
  });

  it("offers to leave out only what has no default and is not required", () => {
    const choice = { type: "string", enum: ["a", "b"] };
    const isOptional = /No answer.*|optional/;
    assert.match(html({ x: choice }), isOptional);
    assert.doesNotMatch(html({ x: choice }, ["x"]), isOptional);
    assert.doesNotMatch(html({ x: { ...choice, default: "a" } }), isOptional);
    assert.match(html({ x: { type: "boolean" } }), isOptional);
  });

  it("has several lines for long texts, radio buttons for few choices, a list for many", () => {
    const letters = [..."abcdefgh"];
    assert.match(html({ x: { type: "string", maxLength: 500 } }), /<textarea/);
    assert.match(html({ x: { type: "string", enum: letters.slice(0, 7) } }), /type="radio"/);
    assert.match(html({ x: { type: "string", enum: letters } }), /<select/);
  });
});

describe("readForm()", () => {
  it("reads text, and leaves out what is empty", () => {
    const text = { x: { type: "string" } };
    assert.deepEqual(content(text, "f0=a+b"), { x: "a b" });
    assert.deepEqual(content(text, "f0="), {});
    assert.deepEqual(content(text, ""), {});
    assert.equal(problem(text, "f0=", ["x"]), "is required");
    assert.deepEqual(content(text, "f0=a%0D%0Ab"), { x: "a\nb" });
    // The person has cleared the default.
    assert.deepEqual(content({ x: { type: "string", default: "d" } }, "f0="), { x: "" });
  });

  it("counts characters, not code units", () => {
    const short = { x: { type: "string", minLength: 2, maxLength: 3 } };
    assert.deepEqual(content(short, `f0=${encodeURIComponent("👩👩👩")}`), { x: "👩👩👩" });
    assert.equal(problem(short, "f0=a"), "expected at least 2 characters");
    assert.equal(problem(short, "f0=abcd"), "expected at most 3 characters");
  });

  it("checks formats", () => {
    const of = (format: string) => ({ x: { type: "string", format } });
    assert.deepEqual(content(of("email"), "f0=+a@b.c+"), { x: "a@b.c" });
    assert.equal(problem(of("email"), "f0=a"), "expected a valid email address");
    assert.deepEqual(content(of("uri"), "f0=https://a.example"), { x: "https://a.example" });
    assert.equal(problem(of("uri"), "f0=a"), "expected a valid URL");
    assert.deepEqual(content(of("date"), "f0=2026-02-28"), { x: "2026-02-28" });
    assert.ok(problem(of("date"), "f0=2026-02-30"));
    const at = of("date-time");
    assert.deepEqual(content(at, "f0=2026-05-01T12:00&f0=%2B02:00"), {
      x: "2026-05-01T12:00:00+02:00",
    });
    assert.deepEqual(content(at, "f0=2026-05-01T12:00:30&f0=z"), { x: "2026-05-01T12:00:30Z" });
    assert.deepEqual(content(at, "f0=&f0=Z"), {});
    assert.ok(problem(at, "f0=2026-05-01T12:00&f0=Berlin"));
    assert.ok(problem(at, "f0=tomorrow&f0=Z"));
    assert.ok(problem(at, "f0=2026-05-01T25:00&f0=Z"));
  });

  it("reads numbers, and refuses what is none", () => {
    const number = { x: { type: "number", minimum: 1, maximum: 2 } };
    assert.deepEqual(content(number, "f0=+1.5+"), { x: 1.5 });
    assert.deepEqual(content({ x: { type: "number" } }, "f0=-1e3"), { x: -1000 });
    assert.deepEqual(content(number, "f0="), {});
    for (const text of ["1,5", "0x1", "Infinity", "NaN", "1 2", "1e999", "."]) {
      assert.match(problem(number, `f0=${text}`)!, /expected a number/, text);
    }
    assert.equal(problem(number, "f0=0"), "expected at least 1");
    assert.equal(problem(number, "f0=3"), "expected at most 2");
    assert.equal(problem({ x: { type: "integer" } }, "f0=1.5"), "expected a whole number");
    assert.deepEqual(content({ x: { type: "integer" } }, "f0=0"), { x: 0 });
  });

  it("reads booleans: a checkbox answers, and optional ones may stay open", () => {
    const boolean = { x: { type: "boolean" } };
    assert.deepEqual(content(boolean, "f0=true", ["x"]), { x: true });
    assert.deepEqual(content(boolean, "", ["x"]), { x: false });
    assert.deepEqual(content({ x: { type: "boolean", default: true } }, ""), { x: false });
    assert.deepEqual(content(boolean, "f0="), {});
    assert.deepEqual(content(boolean, "f0=false"), { x: false });
  });

  it("reads choices by their position, so that any text can be one", () => {
    const one = { x: { type: "string", enum: ["", "b"] } };
    assert.deepEqual(content(one, "f0=0"), { x: "" });
    assert.deepEqual(content(one, "f0="), {});
    assert.equal(problem(one, "f0=", ["x"]), "is required");
    for (const text of ["2", "-1", "b", "0x1", "length"]) {
      assert.equal(problem(one, `f0=${text}`), "is not one of the choices", text);
    }
    const many = {
      x: { type: "array", minItems: 1, maxItems: 2, items: { enum: ["a", "b", "c"] } },
    };
    assert.deepEqual(content(many, "f0=0&f0=2&f0=0"), { x: ["a", "c"] });
    assert.deepEqual(content(many, ""), {});
    assert.equal(problem(many, "", ["x"]), "expected at least 1 item");
    assert.equal(problem(many, "f0=0&f0=1&f0=2"), "expected at most 2 items");
    const cleared = { x: { type: "array", items: { enum: ["a"] }, default: ["a"] } };
    assert.deepEqual(content(cleared, ""), { x: [] });
  });

  it("reports all problems, and takes any name of a field", () => {
    const { problems } = read({ a: { type: "number" }, b: {}, c: {} }, "f0=x&f1=y", ["c"]);
    assert.deepEqual(problems.map(({ field }) => field), ["a", "c"]);
    const odd = content({ ["__proto__"]: {}, constructor: {}, "a b": {} }, "f0=1&f1=2&f2=3");
    assert.deepEqual(Object.entries(odd), [["__proto__", "1"], ["constructor", "2"], ["a b", "3"]]);
    assert.equal(Object.getPrototypeOf(odd), Object.prototype);
  });
});
