/** Calls a tool in this process. */
import { each, type Operation, resource, scoped, spawn, type Task, until } from "effection";
import type { Person, Question } from "../../client/person.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { ToolResult, ToolSessionEvent, ToolSessionRequest } from "../../model/events.ts";
import { listen } from "../../platform/listen.ts";
import { IN_PROCESS } from "../../registry/options.ts";
import { useLiveRegistry } from "../../registry/use-registry.ts";
import { Pages } from "../../server/pages.ts";
import type { LiveToolSession } from "../../session/tool-session.ts";
import type { ToolSession } from "../../session/types.ts";
import type { FinalizedMcpTool } from "../../tool/types.ts";
import { Problem } from "../problem.ts";

/**
 * Runs the tool until it ends. Halting this operation halts the tool. `trace` gets each event of the
 * log, in which sensitive fields are masked.
 */
export function callHere(
  tool: FinalizedMcpTool,
  args: unknown,
  person: Person,
  trace?: (event: ToolSessionEvent) => void,
): Operation<ToolResult> {
  return scoped(function* () {
    const pages = yield* usePages();
    const registry = yield* useLiveRegistry({
      site: pages,
      report: ({ what, error }) => person.log("error", `${what}: ${messageOf(error)}`),
    });
    pages.settle(registry);
    const client = { ...IN_PROCESS, name: "parley" };
    const session = registry.open(tool, args, { client, awaited: true });
    registry.hold(session);
    yield* attend(session, registry.handle(session), person, trace);
    const outcome = session.outcome!;
    if (outcome.status === "completed") return outcome.result as ToolResult;
    const why = outcome.status === "failed" ? outcome.error.message : outcome.reason;
    throw new Problem(`Cannot finish "${tool.name}": ${why}`);
  });
}

/** Serves the pages that tools open, to the person at this machine. */
function usePages(): Operation<Pages> {
  return resource(function* (provide) {
    // Forms may ask for passwords: the person types them into this process, and no client sees them.
    const pages = new Pages({ openPort: listen, formPasswords: true });
    pages.privately = true;
    try {
      yield* provide(pages);
    } finally {
      yield* until(pages.close());
    }
  });
}

function* attend(
  session: LiveToolSession,
  handle: ToolSession,
  person: Person,
  trace: ((event: ToolSessionEvent) => void) | undefined,
): Operation<void> {
  const answers = new Map<string, Task<void>>();
  for (const event of yield* each(handle.getEvents())) {
    trace?.(event);
    switch (event.type) {
      case "elicit_request":
      case "sample_request":
      case "roots_request": {
        const task = yield* spawn(function* () {
          const answer = yield* person.answer(questionOf(event));
          session.respond(
            event.id,
            answer,
            event.type === "elicit_request" ? "terminal" : undefined,
          );
        });
        answers.set(event.id, task);
        break;
      }
      case "withdrawn":
        yield* answers.get(event.requestId)?.halt() ?? nothing();
        break;
      case "progress":
        person.progress(event);
        break;
      case "log":
        person.log(event.level, event.data);
        break;
    }
    yield* each.next();
  }
}

function* nothing(): Operation<void> {}

function questionOf(request: ToolSessionRequest): Question {
  switch (request.type) {
    case "elicit_request": {
      const { params, sensitive = [] } = request;
      return params.mode === "form"
        ? { type: "form", params, sensitive }
        : { type: "page", params };
    }
    case "sample_request":
      return { type: "sample", params: request.params };
    case "roots_request":
      return { type: "roots" };
  }
}
