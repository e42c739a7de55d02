/** A field of every type. */
export const EVERYTHING = {
  name: { type: "string", title: "Your name", minLength: 2, maxLength: 40 },
  mail: { type: "string", format: "email", title: "E-mail", description: "For the ticket" },
  site: { type: "string", format: "uri" },
  day: { type: "string", format: "date", title: "Day of travel" },
  at: { type: "string", format: "date-time", title: "Call me at" },
  weight: { type: "number", title: "Weight in kg", minimum: 0.5 },
  bags: { type: "integer", title: "Bags", minimum: 0, maximum: 9, default: 1 },
  quiet: { type: "boolean", title: "In the quiet zone", default: true },
  news: { type: "boolean", title: "News by mail?" },
  seat: {
    type: "string",
    oneOf: [{ const: "w", title: "Window" }, { const: "a", title: "Aisle" }],
  },
  row: { type: "string", enum: [..."123456789"], title: "Row" },
  meals: {
    type: "array",
    title: "Meals",
    items: { type: "string", enum: ["breakfast", "lunch", "dinner"] },
    maxItems: 2,
  },
  note: { type: "string", title: "Anything else", maxLength: 500 },
};
