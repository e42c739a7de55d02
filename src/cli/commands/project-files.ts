/** The files of a new project. */

/** Returns the text of each file by its path. `ours` is the path of Parley's package. */
export function projectFiles(
  name: string,
  version: string,
  ours: string,
): { readonly [path: string]: string } {
  return {
    "tools/greet.ts": TOOL,
    "tests/greet.test.ts": TEST,
    "package.json": json({
      name,
      version: "0.1.0",
      private: true,
      type: "module",
      dependencies: { effection: "^4.1.1", "parley-mcp": `file:${ours}`, zod: "^4.6.7" },
      devDependencies: { "@types/node": "^22.20.5" },
    }),
    // Deno reads deno.json. Editors read the same settings from tsconfig.json.
    "deno.json": json({ nodeModulesDir: "manual", compilerOptions: { strict: true } }),
    "tsconfig.json": json({
      compilerOptions: {
        strict: true,
        target: "esnext",
        module: "nodenext",
        types: ["node"],
        allowImportingTsExtensions: true,
        noEmit: true,
        skipLibCheck: true,
      },
      include: ["tools", "tests"],
    }),
    ".gitignore": "node_modules/\n",
    "README.md": readme(name, version),
  };
}

const TOOL = `import { createMcpTool } from "parley-mcp";
import { z } from "zod";

export const greet = createMcpTool("greet")
  .description("Greets a person, after asking how.")
  .parameters(z.object({ name: z.string().describe("The person to greet") }))
  .elicits({
    how: { response: z.object({ style: z.enum(["friendly", "formal"]) }) },
  })
  .execute(function* ({ name }, ctx) {
    // Asks the person and waits for the answer, however long that takes.
    const answer = yield* ctx.elicit("how", { message: \`How should I greet \${name}?\` });
    if (answer.action !== "accept") return "Nobody was greeted.";
    return answer.content.style === "formal" ? \`Good day, \${name}.\` : \`Hello \${name}!\`;
  });
`;

const TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { testTool } from "parley-mcp";
import { greet } from "../tools/greet.ts";

test("greet uses the style that the person chose", async () => {
  const run = await testTool(greet, { name: "Ann" }, {
    elicit: { how: { action: "accept", content: { style: "formal" } } },
  });
  assert.equal(run.text, "Good day, Ann.");
});

test("greet accepts a refusal", async () => {
  const run = await testTool(greet, { name: "Ann" }, { elicit: { how: "decline" } });
  assert.equal(run.text, "Nobody was greeted.");
});
`;

function readme(name: string, version: string): string {
  return `# ${name}

Tools for AI assistants that can stop and ask the person a question, made with Parley ${version}.

    parley test                           run the tests; deno test -A and bun test do the same
    parley call greet tools               call a tool, and answer its questions
    parley serve tools                    serve the tools over HTTP
    parley install claude-desktop tools   let an app use them

Each file in \`tools/\` exports tools. Add one, and restart.
`;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
