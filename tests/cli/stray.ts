/** A tool that throws where nobody can catch it, in a module that the program loads. */
import { sleep } from "effection";
import { createMcpTool } from "parley-mcp";

export const stray = createMcpTool("stray").description("Throws beside itself.")
  .execute(function* () {
    setTimeout(() => {
      throw new Error("thrown in a timer");
    }, 0);
    void Promise.reject(new Error("rejected, and nobody cared"));
    yield* sleep(0);
    return "still here";
  });
