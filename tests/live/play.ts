/**
 * Plays a game of tic-tac-toe against the real model that the environment names:
 *
 *     PARLEY_MODEL=ollama:llama3.3 deno task test:live
 *
 * Not part of the suite: it needs a model, takes long, and may cost money.
 */
import process from "node:process";
import { samplingFromEnvironment, type SamplingProvider, testTool } from "parley-mcp";
import { playTtt } from "../../tools/play_ttt.ts";
import { cellsOffered, prefer } from "../tools/ttt-players.ts";

process.exitCode = await main();

async function main(): Promise<number> {
  let provider: SamplingProvider | undefined;
  try {
    provider = samplingFromEnvironment(process.env);
  } catch (error) {
    console.log(`FAILED: ${(error as Error).message}`);
    return 1;
  }
  if (!provider) {
    console.log(
      "SKIPPED: no model is configured, so no game was played against one. Set PARLEY_MODEL, " +
        "as in PARLEY_MODEL=anthropic:claude-sonnet-5 (with ANTHROPIC_API_KEY) or PARLEY_MODEL=ollama:llama3.3.",
    );
    return 0;
  }
  console.log(`Playing against ${provider.name}.`);
  const counted = counting(provider);
  const start = Date.now();
  const run = await testTool(playTtt, {}, {
    client: { name: "live", capabilities: { elicitation: { form: {} } } },
    sampling: { provider: counted },
    elicit: {
      pickMove({ params }) {
        if (params.mode !== "form") throw new Error("It asked for something else than a form");
        console.log(`\n${params.message}`);
        const cell = prefer(["5", "1", "9", "3", "7"], cellsOffered(params.requestedSchema));
        console.log(`> ${cell}`);
        return { action: "accept", content: { cell } };
      },
    },
  });
  console.log(`\n${run.text}`);
  const { samples, tokens } = counted;
  console.log(`\n${samples} samples, ${tokens} tokens answered, ${Date.now() - start} ms.`);
  if (run.result.isError || run.structured.opponent !== "model") {
    console.log(`FAILED: no whole game could be played against ${provider.name}.`);
    return 1;
  }
  console.log(`PASSED: a whole game was played against ${provider.name}.`);
  return 0;
}

/** The same provider, with its requests and answers recorded. */
function counting(provider: SamplingProvider) {
  const counts = { samples: 0, tokens: 0 };
  return {
    name: provider.name,
    get samples() {
      return counts.samples;
    },
    get tokens() {
      return counts.tokens;
    },
    async sample(...[params, signal]: Parameters<SamplingProvider["sample"]>) {
      counts.samples++;
      const answer = await provider.sample(params, signal);
      counts.tokens += answer.usage?.outputTokens ?? 0;
      console.log(`  ${answer.model}: ${JSON.stringify(answer.content)}`);
      return answer;
    },
  };
}
