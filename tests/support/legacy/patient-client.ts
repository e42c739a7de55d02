/**
 * A legacy client that follows the specification, and goes on after its connection
 * is cut, wherever that happens:
 *
 *   an answer or a notification    is sent again; the server accepts it once
 *   a stream with a known event id is resumed after that id
 *   a call without an event id     is cancelled, in case it runs, and made again
 *
 * The official clients only do the second.
 */
import type { Message } from "../exchange.ts";
import { FrameReader, isCut } from "../sse.ts";

const ACCEPT = "application/json, text/event-stream";

export class PatientClient {
  readonly #where: () => string | Promise<string>;
  readonly #answer: (request: Message) => object | Promise<object>;
  readonly #headers: Record<string, string>;
  #session: string | undefined;
  #lastId = 0;
  /** The notifications it received, duplicates included. */
  readonly heard: Message[] = [];
  /** How often it had to call before it knew an id to resume by. */
  calls = 0;

  /**
   * `where` is the server's address, or returns its current one. `answer` returns the person's or
   * the model's answer to a request from the server. `headers` are sent with every request.
   */
  constructor(
    where: string | (() => Promise<string>),
    answer: (request: Message) => object | Promise<object>,
    headers: Record<string, string> = {},
  ) {
    this.#headers = headers;
    this.#where = typeof where === "string" ? () => where : where;
    this.#answer = answer;
  }

  async connect(capabilities: object, name = "patient"): Promise<void> {
    const clientInfo = { name, version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities, clientInfo };
    const message = { jsonrpc: "2.0", id: ++this.#lastId, method: "initialize", params };
    await this.#untilHeard(async () => {
      const response = await this.#post(message);
      // A session whose response was lost is left to expire.
      await response.json();
      this.#session = response.headers.get("mcp-session-id")!;
    });
    await this.#tell({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  /** Calls a tool and returns its result. */
  async call(name: string, args: object): Promise<Message["result"]> {
    for (;;) {
      const id = ++this.#lastId;
      this.calls++;
      const outcome = await this.#try(id, { name, arguments: args, _meta: { progressToken: id } });
      if (outcome?.error) throw new Error(`Refused: ${JSON.stringify(outcome)}`);
      if (outcome) return outcome.result;
      await this.#tell({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: id, reason: "the answer was lost" },
      });
    }
  }

  async end(): Promise<void> {
    await this.#untilHeard(async () => {
      const response = await this.#send("DELETE");
      await response.body?.cancel();
    });
  }

  /** Undefined if it was cut before there was an event id to resume from. */
  async #try(id: number, params: object): Promise<Message | undefined> {
    let place: string | undefined;
    let response: Response | undefined;
    const message = { jsonrpc: "2.0", id, method: "tools/call", params };
    try {
      response = await this.#post(message);
      if (response.headers.get("content-type") === "application/json") return await response.json();
    } catch {
      return undefined;
    }
    for (;;) {
      try {
        response ??= await this.#send("GET", {
          accept: "text/event-stream",
          "last-event-id": place!,
        });
        if (response.status !== 200) throw new Error(`Cannot resume: ${response.status}`);
      } catch (error) {
        if (isCut(error)) continue;
        throw error;
      }
      try {
        const frames = new FrameReader(response.body!);
        for (let frame = await frames.next(); frame; frame = await frames.next()) {
          if (frame.id !== undefined) place = frame.id;
          if (!frame.data) continue;
          const message: Message = JSON.parse(frame.data);
          this.heard.push(message);
          if (message.id === id) return message;
          if (message.id !== undefined) {
            const result = await this.#answer(message);
            await this.#tell({ jsonrpc: "2.0", id: message.id, result });
          }
        }
      } catch (error) {
        if (!isCut(error)) throw error;
      }
      if (place === undefined) return undefined;
      response = undefined;
    }
  }

  async #tell(message: object): Promise<void> {
    await this.#untilHeard(async () => {
      const { status } = await this.#post(message);
      if (status !== 202) throw new Error(`Refused with ${status}: ${JSON.stringify(message)}`);
    });
  }

  async #untilHeard(attempt: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!isCut(error)) throw error;
      }
    }
  }

  async #post(message: object): Promise<Response> {
    const headers = { "content-type": "application/json", accept: ACCEPT };
    return await this.#send("POST", headers, JSON.stringify(message));
  }

  async #send(
    method: string,
    headers: Record<string, string> = {},
    body?: string,
  ): Promise<Response> {
    const session = this.#session === undefined ? {} : { "mcp-session-id": this.#session };
    return await fetch(await this.#where(), {
      method,
      headers: { ...session, ...this.#headers, ...headers },
      ...(body !== undefined && { body }),
    });
  }
}
