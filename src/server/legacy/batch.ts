/** What a batch may be, and how much may be answered to it. */
import { SERVER_BUSY } from "../../model/rpc-codes.ts";
import { errorText, type RpcId, type RpcMessage } from "../../wire/json-rpc.ts";
import { isRun } from "../run-target.ts";
import type { ClientSession } from "./client-session.ts";
import { value } from "../reply.ts";
import { receive, type Received } from "./receive.ts";
import { notTaken } from "./refusals.ts";

/**
 * The answers to the messages of a batch that are not calls. A list is many times as long as
 * the request for it, so they are given room together. What finds none is answered with an
 * error, and not looked up.
 */
export class BatchReplies {
  readonly #room: number;
  #taken = 0;
  readonly #texts: (string | Promise<string>)[] = [];

  constructor(room: number) {
    this.#room = room;
  }

  get size(): number {
    return this.#texts.length;
  }

  /** Takes a message, unless it is a request whose answer would find no room. */
  receive(client: ClientSession, message: RpcMessage): Received | Promise<Received> {
    if (message.type !== "request") return receive(client, message);
    const { id, method } = message;
    if (method === "initialize") {
      return notTaken("Cannot initialize: it came in a batch; send it by itself", id);
    }
    if (this.#taken < this.#room || isRun(method)) return receive(client, message);
    return value(this.#noRoom(id));
  }

  add(id: RpcId | undefined, text: string | Promise<string>): void {
    this.#texts.push(
      typeof text === "string" ? this.#counted(text) : text.then((text) => {
        // Others may have taken the room while this one was looked up.
        return this.#taken < this.#room ? this.#counted(text) : this.#noRoom(id);
      }),
    );
  }

  settled(): Promise<string[]> {
    return Promise.all(this.#texts);
  }

  #counted(text: string): string {
    this.#taken += text.length;
    return text;
  }

  #noRoom(id: RpcId | undefined): string {
    const message =
      `Cannot answer in this batch: its answers take more than ${this.#room} characters; send the request by itself`;
    return errorText(id, { code: SERVER_BUSY, message });
  }
}
