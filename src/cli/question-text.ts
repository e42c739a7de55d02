/** A question in words, for a place where nobody can be asked. */
import { textOf } from "../model/content.ts";
import { fieldsOf, typeOf } from "./terminal/fields.ts";
import type { Question } from "../client/person.ts";
import { visible } from "./terminal/visible.ts";

export function describeQuestion(question: Question): string {
  return visible(inWords(question));
}

function inWords(question: Question): string {
  switch (question.type) {
    case "form": {
      const { message, requestedSchema } = question.params;
      const fields = fieldsOf(requestedSchema).map(({ name, schema, required }) =>
        `  ${name}: ${typeOf(schema)}${required ? "" : " (optional)"}`
      );
      return [`The tool asks: ${message}`, ...fields].join("\n");
    }
    case "page":
      return `The tool asks you to open a page: ${question.params.message}\n  ${question.params.url}`;
    case "sample": {
      const asked = question.params.messages.at(-1);
      return `The tool asks the model: ${asked ? textOf(asked) : ""}`;
    }
    case "roots":
      return "The tool asks which folders it may use.";
  }
}
