/**
 * Writes a call as a test: a `testTool` script that replays its questions and answers. Masked
 * values stay masked.
 */
import type { CallDetail } from "../../model/calls.ts";
import type { ToolSessionEvent } from "../../model/events.ts";
import { exchangesIn } from "./exchanges.tsx";

/** Returns the text of a test file. */
export function testScript(call: CallDetail, events: readonly ToolSessionEvent[]): string {
  const { tool, id, params, outcome } = call;
  const name = /^[A-Za-z_$][\w$]*$/.test(tool) ? tool : "tool";
  // Arguments are kept only for durable calls.
  const given = params === undefined ? "{/* enter the arguments */}" : literal(params, 1);
  const expected = outcome?.status === "completed"
    ? `  assert.deepEqual(run.result, ${literal(outcome.result, 1)});\n`
    : outcome
    ? `  assert.equal(run.outcome.status, ${JSON.stringify(outcome.status)});\n`
    : "";
  return `import assert from "node:assert/strict";
import { test } from "node:test";
import { testTool } from "parley-mcp";
import { ${name} } from "./${tool.replace(/[^\w.-]/g, "_")}.ts";

// What happened in call ${id.replace(/[^\w-]/g, "_")}.
test(${JSON.stringify(`${tool} does the same again`)}, async () => {
  const run = await testTool(${name}, ${given}, ${literal(scriptOf(events), 1)});
${expected}});
`;
}

/** The answers of the person, the model and the client, in the order of their questions. */
function scriptOf(events: readonly ToolSessionEvent[]): object {
  const elicit: { [key: string]: unknown[] } = {};
  const elicitUrl: unknown[] = [];
  const sample: unknown[] = [];
  let roots: unknown;
  for (const { request, answer } of exchangesIn(events)) {
    const { place: { key } } = request;
    const response = answer?.response;
    if (request.type === "sample_request") {
      sample.push(response ?? { timeout: true });
    } else if (request.type === "elicit_request") {
      const given = response && "action" in response && response.action !== "accept"
        ? response.action
        : response ?? "timeout";
      if (request.params.mode === "url") elicitUrl.push(actionOf(given));
      else (elicit[key] ??= []).push(given);
    } else if (response && "roots" in response) {
      roots = response.roots;
    }
  }
  return {
    ...(Object.keys(elicit).length > 0 && { elicit }),
    ...(elicitUrl.length > 0 && { elicitUrl }),
    ...(sample.length > 0 && { sample }),
    ...(roots !== undefined && { roots }),
  };
}

function actionOf(given: unknown): unknown {
  return typeof given === "object" && given !== null && "action" in given ? given.action : given;
}

/** A value as TypeScript, indented. JSON is TypeScript, except for these line separators. */
function literal(value: unknown, depth: number): string {
  return JSON.stringify(value, null, 2)
    .replace(/[\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16)}`)
    .replaceAll("\n", `\n${"  ".repeat(depth)}`);
}
