/** Tools for the tests of stdio; also loaded as a module by the program. */
import { sleep, suspend, until } from "effection";
import { log } from "node:console";
import { writeSync } from "node:fs";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { createMcpTool } from "parley-mcp";
import { z } from "zod";

export const add = createMcpTool("add")
  .description("Adds two numbers, after asking for the second.")
  .parameters(z.object({ a: z.int() }))
  .elicits({ b: { response: z.object({ b: z.int() }) } })
  .execute(function* ({ a }, ctx) {
    const answer = yield* ctx.elicit("b", { message: `What is to be added to ${a}?` });
    return answer.action === "accept" ? `${a + answer.content.b}` : answer.action;
  });

export const echo = createMcpTool("echo")
  .description("Says it again.")
  .parameters(z.object({ text: z.string() }))
  .execute(function* ({ text }) {
    return text;
  });

export const large = createMcpTool("large")
  .description("Returns that many characters.")
  .parameters(z.object({ size: z.int() }))
  .execute(function* ({ size }) {
    return "x".repeat(size);
  });

/** Prints in every possible way, and reports when it is halted. */
export const noisy = createMcpTool("noisy")
  .description("Prints to stdout.")
  .execute(function* () {
    console.log("NOISE from console.log");
    console.info("NOISE from console.info");
    console.debug("NOISE from console.debug");
    console.table(["NOISE from console.table"]);
    console.dir("NOISE from console.dir");
    console.group("NOISE from console.group");
    console.groupEnd();
    log("NOISE from node:console");
    process.stdout.write("NOISE from process.stdout\n");
    writeSync(1, "NOISE from fs.writeSync\n");
    spawnSync("sh", ["-c", "echo NOISE from a child"], { stdio: "inherit" });
    yield* until(printNatively("NOISE from the runtime itself\n"));
    return "quiet";
  });

/** The additional way of each runtime. */
async function printNatively(text: string): Promise<void> {
  const { Deno, Bun } = globalThis as unknown as {
    Deno?: { stdout: { write(bytes: Uint8Array): Promise<number> } };
    Bun?: { stdout: unknown; write(to: unknown, text: string): Promise<number> };
  };
  if (Deno) await Deno.stdout.write(new TextEncoder().encode(text));
  else await Bun?.write(Bun.stdout, text);
}

export const stubborn = createMcpTool("stubborn")
  .description("Waits for ever, and takes a moment to clean up.")
  .execute(function* () {
    try {
      console.error("stubborn has begun");
      yield* suspend();
    } finally {
      yield* sleep(0);
      console.error("stubborn has cleaned up");
    }
  });

export const slow = createMcpTool("slow")
  .description("Waits until an address answers, if it is given one.")
  .parameters(z.object({ address: z.string().optional() }))
  .execute(function* ({ address }) {
    console.error("slow has begun");
    if (address) yield* until(fetch(address).then((response) => response.text()));
    return "done at last";
  });

export const chatty = createMcpTool("chatty")
  .description("Logs that many lines of that length, all at once.")
  .parameters(z.object({ lines: z.int(), length: z.int() }))
  .execute(function* ({ lines, length }, ctx) {
    // By now somebody listens.
    yield* sleep(0);
    for (let i = 0; i < lines; i++) yield* ctx.log("info", `${i} ${"x".repeat(length)}`);
    return "all said";
  });
