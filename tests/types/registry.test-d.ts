// What sessions and limits promise to the compiler. Checked, never run.
import { each } from "effection";
import { z } from "zod";
import {
  createMcpTool,
  createParley,
  type ParleyLimits,
  type ParleyOptions,
  type ToolResult,
  type ToolSession,
  type ToolSessionRegistry,
  useToolSessionRegistry,
} from "../../src/mod.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
function holds<T extends true>(): T | void {}

const book = createMcpTool("book").description("d")
  .parameters(z.object({ to: z.string() }))
  .output(z.object({ booked: z.boolean() }))
  .execute(function* () {
    return { booked: true };
  });
const plain = createMcpTool("plain").description("d").execute(function* () {
  return "text";
});

// -------------------------------------------------------------------- sessions

export function* sessions() {
  const registry = yield* useToolSessionRegistry();
  holds<Equal<typeof registry, ToolSessionRegistry>>();

  const session = yield* registry.create(book, { to: "Rome" });
  holds<Equal<typeof session, ToolSession<ToolResult<{ booked: boolean }>>>>();
  const events = yield* session.getEvents();
  const { done, value } = yield* events.next();
  if (done && value.status === "completed") {
    holds<Equal<typeof value.result.structuredContent, { booked: boolean } | undefined>>();
  }

  const other = yield* registry.create(plain, {});
  holds<Equal<typeof other, ToolSession<ToolResult<unknown>>>>();

  // A session of any tool is a session.
  const any: ToolSession = session;
  for (const event of yield* each(any.getEvents())) {
    holds<Equal<typeof event.lsn, number>>();
    yield* each.next();
  }
  holds<Equal<typeof any, ToolSession<unknown>>>();
  const found = yield* registry.get("id");
  holds<Equal<typeof found, ToolSession | null>>();

  // @ts-expect-error a parameter is missing
  yield* registry.create(book, {});
  // @ts-expect-error a parameter of another type
  yield* registry.create(book, { to: 5 });
  // @ts-expect-error the interface has no internals
  registry.open(book, { to: "Rome" });
}

// ---------------------------------------------------------------------- limits

createParley({ limits: { maxSessions: 5, maxBody: 1_000, durableTimeToLive: 1_000 } });
// @ts-expect-error limits are in `limits`
createParley({ maxSessions: 5 });
// @ts-expect-error there is no such limit
createParley({ limits: { maxSession: 5 } });
holds<Equal<ParleyOptions["limits"], Partial<ParleyLimits> | undefined>>();
// @ts-expect-error wiring of the platform is no option
createParley({ openPort: undefined });
