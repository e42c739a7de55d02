import assert from "node:assert/strict";
import { listFiles, readText } from "../harness/files.ts";
import { describe, it } from "../suite.ts";

/** What a file imports statically; types cost nothing, and `import()` only when it is called. */
function importedAtOnce(file: string): string[] {
  const statements = readText(file).matchAll(
    /^(?:import|export)\s+(?!type\b)(?:[^;"]*?\sfrom\s+)?"([^"]+)"/gm,
  );
  return [...statements].map(([, specifier]) => specifier!);
}

const WIRE_FORMATS = ["openai", "anthropic", "ollama"].map((name) => `src/sampling/${name}.ts`);

describe("the providers' libraries", () => {
  it("are not loaded before the first sample", () => {
    for (const file of listFiles("src", ".ts")) {
      const loaded = importedAtOnce(file);
      const libraries = loaded.filter((name) => /^(?:@ai-sdk\/|ollama(?:\/|$))/.test(name));
      if (!WIRE_FORMATS.includes(file)) assert.deepEqual(libraries, [], file);
      const formats = loaded.filter((name) => /\/(?:openai|anthropic|ollama)\.ts$/.test(name));
      assert.deepEqual(formats, [], file);
    }
    for (const file of WIRE_FORMATS) {
      assert.ok(importedAtOnce(file).some((name) => /ai-sdk|ollama/.test(name)), file);
    }
  });
});
