/**
 * A modern client that goes on after its connection is cut, wherever that happens: it sends the
 * same request again, with the same state, until it is answered. Before it has a state, each
 * attempt is a new call.
 */
import { ABLE, VERSION } from "./client.ts";
import type { Message } from "../exchange.ts";
import { FrameReader, isCut } from "../sse.ts";

export interface PatientOptions {
  readonly name?: string;
  readonly capabilities?: object;
}

type Params = { readonly [key: string]: unknown };

export class PatientClient {
  readonly #where: () => Promise<string>;
  readonly #answer: (request: Message, name: string) => object;
  readonly #options: PatientOptions;
  #lastId = 0;
  /** The notifications it received, duplicates included. */
  readonly heard: Message[] = [];
  /** The names of questions whose answers the server has accepted. */
  readonly #taken = new Set<string>();
  /** How often it had to call before it had a state. */
  calls = 0;

  /** `answer` returns the person's or the model's answer to a question. */
  constructor(
    where: () => Promise<string>,
    answer: (request: Message, name: string) => object,
    options: PatientOptions = {},
  ) {
    this.#where = where;
    this.#answer = answer;
    this.#options = options;
  }

  /** Calls a tool and returns its result. */
  async call(name: string, args: object): Promise<Message["result"]> {
    const call = { name, arguments: args };
    let more: Params = {};
    let answered: object = {};
    for (;;) {
      const result = await this.request("tools/call", name, { ...call, ...more });
      this.#take(answered, result.inputRequests);
      switch (result.resultType) {
        case "input_required":
          answered = this.answersTo(result);
          more = { requestState: result.requestState, inputResponses: answered };
          break;
        case "task":
          return await this.#follow(result.taskId);
        default:
          return result;
      }
    }
  }

  /** Polls a task until it has ended. */
  async #follow(taskId: string): Promise<Message["result"]> {
    for (;;) {
      const task = await this.request("tasks/get", taskId, { taskId });
      if (task.status === "completed") return task.result;
      if (task.status === "input_required") {
        const inputResponses = this.answersTo(task);
        await this.request("tasks/update", taskId, { taskId, inputResponses });
        this.#take(inputResponses);
      } else if (task.status !== "working") {
        throw new Error(`The task is lost: ${JSON.stringify(task)}`);
      }
    }
  }

  /** An answer that is not asked for again was accepted, and may never be asked for again. */
  #take(answered: object, again: object = {}): void {
    for (const name of Object.keys(answered)) if (!(name in again)) this.#taken.add(name);
    for (const name of Object.keys(again)) {
      if (this.#taken.has(name)) throw new Error(`It asks again for "${name}", which it had taken`);
    }
  }

  answersTo({ inputRequests }: Message["result"]): object {
    this.#take({}, inputRequests);
    return Object.fromEntries(
      Object.entries(inputRequests as Record<string, Message>)
        .map(([name, request]) => [name, this.#answer(request, name)]),
    );
  }

  /** Repeats the request until it is answered. */
  async request(method: string, name: string, params: Params): Promise<Message["result"]> {
    const id = ++this.#lastId;
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": VERSION,
      "io.modelcontextprotocol/clientInfo": {
        name: this.#options.name ?? "patient",
        version: "1",
      },
      "io.modelcontextprotocol/clientCapabilities": this.#options.capabilities ?? ABLE,
      "io.modelcontextprotocol/logLevel": "info",
      progressToken: id,
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } });
    for (;;) {
      const where = await this.#where();
      if (method === "tools/call" && params.requestState === undefined) this.calls++;
      try {
        const response = await fetch(where, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            "mcp-protocol-version": VERSION,
            "mcp-method": method,
            "mcp-name": name,
          },
          body,
        });
        const answer = await this.#answerIn(response, id);
        if (answer?.result) return answer.result;
        if (answer) throw new Error(`Refused: ${JSON.stringify(answer)}`);
      } catch (error) {
        if (!isCut(error)) throw error;
      }
    }
  }

  /** Undefined if the stream ended before the response. */
  async #answerIn(response: Response, id: number): Promise<Message | undefined> {
    if (response.headers.get("content-type") !== "text/event-stream") return await response.json();
    const frames = new FrameReader(response.body!);
    for (let frame = await frames.next(); frame; frame = await frames.next()) {
      if (!frame.data) continue;
      const message: Message = JSON.parse(frame.data);
      if (message.id === id) return message;
      this.heard.push(message);
    }
    return undefined;
  }
}
