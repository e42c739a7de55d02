/**
 * A fetch handler under watch: every message to a modern client is checked against the schema of
 * 2026-07-28, and every status against its message.
 */
import type { Fetch, Message } from "../exchange.ts";
import { complaintsAbout } from "./schemas.ts";
import { parseFrame } from "../sse.ts";

export class Watch {
  readonly complaints: string[] = [];
  /** How many messages were checked. */
  messages = 0;

  over(fetch: Fetch): Fetch {
    return async (request) => {
      const posted = request.method === "POST" ? await peek(request) : undefined;
      const response = await fetch(request);
      if (response.headers.get("content-type") === "text/event-stream") {
        return this.#watchStream(posted, response);
      }
      const text = await response.clone().text();
      // A message of a legacy session.
      if (text === "" || response.headers.has("mcp-session-id")) return response;
      const message: Message = JSON.parse(text);
      this.#check(posted, message);
      const expected = statusFor(message);
      if (expected && expected !== response.status) {
        this.complaints.push(`${response.status} for ${text}`);
      }
      return response;
    };
  }

  #watchStream(posted: Partial<Message> | undefined, response: Response): Response {
    const decoder = new TextDecoder();
    let text = "";
    let ended = false;
    const see = (chunk: Uint8Array) => {
      text += decoder.decode(chunk, { stream: true });
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const { data, id, retry } = parseFrame(text.slice(0, end));
        text = text.slice(end + 2);
        if (id !== undefined || retry !== undefined) this.complaints.push("an id or a retry");
        if (!data) continue;
        if (ended) this.complaints.push(`after the response: ${data}`);
        const message: Message = JSON.parse(data);
        this.#check(posted, message);
        ended = message.id !== undefined;
      }
    };
    const reader = response.body!.getReader();
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (done) {
          if (!ended) this.complaints.push("a stream that ended without a response");
          return controller.close();
        }
        see(value);
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    }, { highWaterMark: 0 });
    return new Response(body, response);
  }

  #check(posted: Partial<Message> | undefined, message: Message): void {
    this.messages++;
    this.complaints.push(...complaintsAbout(message, posted?.method));
    const { id } = message;
    if (id !== undefined && id !== posted?.id) {
      this.complaints.push(`id ${JSON.stringify(id)} for ${JSON.stringify(posted?.id)}`);
    }
  }
}

async function peek(request: Request): Promise<Partial<Message> | undefined> {
  try {
    return JSON.parse(await request.clone().text()) ?? undefined;
  } catch {
    return undefined;
  }
}

function statusFor({ error }: Message): number | undefined {
  switch (error?.code) {
    case -32601:
      return 404;
    case -32020:
    case -32021:
    case -32022:
    case -32700:
      return 400;
    default:
      return undefined;
  }
}
