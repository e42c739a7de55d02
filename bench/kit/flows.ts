/** The measured flows, from the client's side. Every response is checked. */
import { eventsIn, HttpConnection, type Message, messagesIn, type Reply } from "./connection.ts";

export type Era = "legacy" | "modern";
export type Work = "call" | "list" | "elicit" | "progress";

/** A client that runs one flow after another. */
export interface User {
  /** Runs the nth flow. Returns the number of chunks of its response. */
  once(n: number): Promise<number>;
  close(): void;
}

export interface Target {
  readonly port: number;
  readonly era: Era;
  readonly work: Work;
  /** A server that does not implement the protocol receives only the calls. */
  readonly bare?: boolean;
}

const EVENTS = 100;
const LEGACY = "2025-11-25";
const MODERN = "2026-07-28";
const INFO = { name: "bench", version: "1.0.0" };
const CAPABILITIES = { elicitation: { form: {} } };

export async function startUser(target: Target): Promise<User> {
  const connection = await HttpConnection.open(target.port);
  const session = target.era === "legacy"
    ? new LegacyClient(connection, target)
    : new TestClient(connection, target);
  await session.open();
  return session;
}

/** Starts a flow and disconnects abruptly: immediately, or after the first data. */
export async function vanish(target: Target): Promise<void> {
  const connection = await HttpConnection.open(target.port);
  const client = target.era === "legacy"
    ? new LegacyClient(connection, target)
    : new TestClient(connection, target);
  await client.open();
  const name = { call: "add", list: "add", elicit: "ask", progress: "count" }[target.work];
  const args = target.work === "call" ? { a: 1, b: 1 } : {};
  const text = client.call(1, name, args, { progressToken: 1 });
  await new Promise<void>((resolve) => {
    // Disconnect after the first data. Calls and progress may also be cut off before that.
    connection.request(text, () => resolve()).then(() => resolve(), () => resolve());
    if (target.work !== "elicit") setTimeout(resolve);
  });
  client.close();
}

abstract class Client implements User {
  constructor(
    protected readonly connection: HttpConnection,
    protected readonly target: Target,
  ) {}

  abstract open(): Promise<void>;

  async once(n: number): Promise<number> {
    switch (this.target.work) {
      case "call": {
        const reply = await this.connection.request(this.call(n, "add", { a: n, b: 1 }));
        expectResult(reply, n, String(n + 1));
        return reply.chunks;
      }
      case "list": {
        const reply = await this.connection.request(this.list(n));
        const { tools } = resultOf(reply, n);
        if (!(tools?.length >= 3)) throw wrong("a list of 3 tools or more", reply.body);
        return reply.chunks;
      }
      case "progress": {
        const text = this.call(n, "count", {}, { progressToken: n });
        const reply = await this.connection.request(text);
        const messages = expectResult(reply, n, "counted");
        const told = messages.filter(({ method }) => method === "notifications/progress")
          .map(({ params }) => params.progress);
        const right = told.length === EVENTS && told.every((progress, i) => progress === i + 1);
        if (!right) throw wrong(`progress of 1 to ${EVENTS}`, reply.body);
        return reply.chunks;
      }
      case "elicit":
        return await this.elicit(n);
    }
  }

  close(): void {
    this.connection.destroy();
  }

  abstract call(id: number, name: string, args: object, meta?: object, more?: object): string;
  abstract list(id: number): string;
  abstract elicit(n: number): Promise<number>;
}

class LegacyClient extends Client {
  #session = "none";
  #answers: HttpConnection | undefined;

  async open(): Promise<void> {
    if (this.target.bare) return;
    const params = { protocolVersion: LEGACY, capabilities: CAPABILITIES, clientInfo: INFO };
    const body = { jsonrpc: "2.0", id: "init", method: "initialize", params };
    const reply = await this.connection.request(post(body, ""));
    const [message] = messagesIn(reply);
    if (message?.result?.protocolVersion !== LEGACY) throw wrong("initialize", reply.body);
    this.#session = reply.session ?? "none";
    const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
    await this.#post(this.connection, initialized, 202);
    if (this.target.work === "elicit") this.#answers = await HttpConnection.open(this.target.port);
  }

  override close(): void {
    super.close();
    this.#answers?.destroy();
  }

  call(id: number, name: string, args: object, meta?: object): string {
    const params = { name, arguments: args, ...(meta && { _meta: meta }) };
    return this.#text({ jsonrpc: "2.0", id, method: "tools/call", params });
  }

  list(id: number): string {
    return this.#text({ jsonrpc: "2.0", id, method: "tools/list" });
  }

  async elicit(n: number): Promise<number> {
    let answered: Promise<void> | undefined;
    const reply = await this.connection.request(this.call(n, "ask", {}), (text) => {
      if (answered) return;
      const question = eventsIn(text).find(({ method }) => method === "elicitation/create");
      if (!question) return;
      if (question.params.message !== "Which number?") throw wrong("a question", text);
      const result = { action: "accept", content: { n } };
      answered = this.#post(this.#answers!, { jsonrpc: "2.0", id: question.id, result }, 202);
    });
    expectResult(reply, n, `picked ${n}`);
    await answered;
    return reply.chunks;
  }

  #text(body: object): string {
    return post(body, `mcp-session-id: ${this.#session}\r\nmcp-protocol-version: ${LEGACY}\r\n`);
  }

  async #post(connection: HttpConnection, body: object, status: number): Promise<void> {
    const reply = await connection.request(this.#text(body));
    if (reply.status !== status) throw wrong(`status ${status}`, `${reply.status} ${reply.body}`);
  }
}

class TestClient extends Client {
  async open(): Promise<void> {}

  call(id: number, name: string, args: object, meta?: object, more?: object): string {
    return this.#text(id, "tools/call", { name, arguments: args, ...more }, meta, name);
  }

  list(id: number): string {
    return this.#text(id, "tools/list", {});
  }

  #text(id: number, method: string, params: object, meta?: object, name?: string): string {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": MODERN,
      "io.modelcontextprotocol/clientInfo": INFO,
      "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
      ...meta,
    };
    const head = `mcp-protocol-version: ${MODERN}\r\nmcp-method: ${method}\r\n` +
      (name === undefined ? "" : `mcp-name: ${name}\r\n`);
    return post({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }, head);
  }

  async elicit(n: number): Promise<number> {
    const asked = await this.connection.request(this.call(2 * n, "ask", {}));
    const { resultType, inputRequests, requestState } = resultOf(asked, 2 * n);
    const names = Object.keys(inputRequests ?? {});
    if (resultType !== "input_required" || names.length !== 1) {
      throw wrong("a question", asked.body);
    }
    const inputResponses = { [names[0]!]: { action: "accept", content: { n } } };
    const more = { inputResponses, ...(requestState !== undefined && { requestState }) };
    const text = this.call(2 * n + 1, "ask", {}, undefined, more);
    const reply = await this.connection.request(text);
    expectResult(reply, 2 * n + 1, `picked ${n}`);
    return reply.chunks;
  }
}

function post(body: object, head: string): string {
  const text = JSON.stringify(body);
  return `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n` +
    `accept: application/json, text/event-stream\r\n${head}` +
    `content-length: ${text.length}\r\n\r\n${text}`;
}

function resultOf(reply: Reply, id: number): Message {
  const message = messagesIn(reply).find((message) => message.id === id && "result" in message);
  if (reply.status !== 200 || !message) throw wrong(`a result for ${id}`, reply.body);
  return message.result;
}

function expectResult(reply: Reply, id: number, text: string): Message[] {
  const messages = messagesIn(reply);
  const last = messages.at(-1);
  if (reply.status === 200 && last?.id === id && last.result?.content?.[0]?.text === text) {
    return messages;
  }
  throw wrong(`"${text}" for ${id}`, `${reply.status} ${reply.body}`);
}

function wrong(expected: string, body: string): Error {
  return new Error(`Cannot count a flow: not ${expected}, but ${body.slice(0, 600)}`);
}
