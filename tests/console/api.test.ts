import assert from "node:assert/strict";
import { createManualClock, createMcpTool, createParley, type ParleyOptions } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../suite.ts";
import { TestClient } from "../support/modern/client.ts";

const ask = createMcpTool("ask").description("Asks.").durable()
  .parameters(z.object({ about: z.string() }))
  .elicits({ ok: { response: z.object({ yes: z.boolean() }) } })
  .execute(function* ({ about }, ctx) {
    const answer = yield* ctx.elicit("ok", { message: `Is ${about} right?` });
    return answer.action === "accept" ? `${answer.content.yes} via ${answer.via}` : answer.action;
  });

const TOKEN = "a token of thirty-two characters!";
const ORIGIN = "http://127.0.0.1:7411";

type Init = RequestInit & { readonly headers?: Record<string, string> };

class Served {
  readonly clock = createManualClock();
  readonly parley;
  readonly client;

  constructor(options: ParleyOptions = {}) {
    this.parley = createParley({
      serve: [ask],
      clock: this.clock,
      console: { token: TOKEN },
      report: () => {},
      ...options,
    });
    this.client = new TestClient(this.parley.fetch);
  }

  async send(path: string, init: Init = {}): Promise<Response> {
    const headers = { "x-parley-console": TOKEN, ...init.headers };
    const url = new URL(`/console/api/${path}`, ORIGIN);
    return await this.parley.fetch(new Request(url, { ...init, headers }));
  }

  async get(path: string) {
    const response = await this.send(path);
    return { status: response.status, body: await response.json() };
  }

  async post(path: string, body?: unknown, headers = { "content-type": "application/json" }) {
    const text = typeof body === "string" ? body : body === undefined ? null : JSON.stringify(body);
    const response = await this.send(path, { method: "POST", headers, body: text });
    return { status: response.status, body: await response.json() };
  }

  /** Starts a call. Returns its id when it waits. */
  async ask(about: string): Promise<string> {
    this.clock.advance(1);
    await this.client.call(ask.name, { about });
    const { body } = await this.get("calls?order=newest");
    return body.calls[0].id;
  }
}

async function serving(body: (server: Served) => Promise<void>, options: ParleyOptions = {}) {
  const server = new Served(options);
  try {
    await body(server);
  } finally {
    await server.parley.close();
  }
}

/** Reads the changes of a stream, one at a time. */
class Changes {
  readonly #reader;
  #text = "";

  constructor(response: Response) {
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    this.#reader = response.body!.getReader();
  }

  /** The next change, or undefined at the end of the stream. */
  async next(): Promise<{ id: string; state: string; lastLSN: number } | undefined> {
    for (;;) {
      const found = /event: change\ndata: (.*)\n\n/.exec(this.#text);
      if (found) {
        this.#text = this.#text.slice(found.index + found[0].length);
        return JSON.parse(found[1]!);
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += new TextDecoder().decode(value);
    }
  }

  async leave(): Promise<void> {
    await this.#reader.cancel();
  }
}

describe("/console/api", () => {
  it("lists calls, and shows one with a window of its events", () =>
    serving(async (server) => {
      const id = await server.ask("tea");
      const other = await server.ask("cake");
      const { body: page } = await server.get("calls?limit=1");
      assert.deepEqual([page.calls.length, page.total], [1, 2]);
      const { body: rest } = await server.get(`calls?limit=1&after=${page.next}`);
      assert.deepEqual(
        new Set([page.calls[0].id, rest.calls[0].id]),
        new Set([id, other]),
      );
      assert.equal((await server.get("calls?state=completed,failed")).body.total, 0);
      assert.equal((await server.get(`calls?tool=${encodeURIComponent(ask.name)}`)).body.total, 2);
      const { body: call } = await server.get(`calls/${id}`);
      assert.equal(call.tool, "ask");
      assert.equal(call.questions[0].message, "Is tea right?");
      const { body: { events, lastLSN } } = await server.get(`calls/${id}/events?from=1&limit=5`);
      assert.deepEqual([events.length, lastLSN], [1, 1]);
      assert.equal((await server.get("calls/nobody")).status, 404);
      assert.equal((await server.get("calls/nobody/events")).status, 404);
    }));

  it("answers as the operator, cancels, and says what was not possible", () =>
    serving(async (server) => {
      const id = await server.ask("tea");
      const answer = { question: "ok", action: "accept", content: { yes: true } };
      const { status, body } = await server.post(`calls/${id}/answer`, answer);
      assert.deepEqual([status, body], [200, { outcome: "accepted" }]);
      const { body: call } = await server.get(`calls/${id}`);
      assert.match(JSON.stringify(call.outcome), /true via operator/);
      assert.deepEqual((await server.post(`calls/${id}/cancel`)).body, { cancelled: false });
      const next = await server.ask("cake");
      assert.equal((await server.post(`calls/${next}/replay`)).body.verdict, "same");
      assert.deepEqual((await server.post(`calls/${next}/cancel`, { reason: "no" })).body, {
        cancelled: true,
      });
      assert.deepEqual((await server.post(`calls/${next}/revive`)).body, { revived: false });
      assert.equal((await server.post("calls/nobody/cancel")).status, 404);
    }));

  it("refuses bad input with a status and a sentence, and changes nothing", () =>
    serving(async (server) => {
      const id = await server.ask("tea");
      const gets: [number, string][] = [
        [400, "calls?state=odd"],
        [400, "calls?limit=-1"],
        [400, "calls?limit=x"],
        [400, "calls?door=window"],
        [400, "calls?order=random"],
        [400, "calls?after=x"],
        [400, `calls/${id}/events?from=1.5`],
        [400, "calls/%E0%A4%A"],
        [404, ""],
        [404, "other"],
        [404, `calls/${id}/other`],
        [404, `calls/${id}/constructor`],
        [404, `calls/${id}/events/more`],
        [405, `calls/${id}/answer`],
      ];
      for (const [status, path] of gets) {
        const found = await server.get(path);
        assert.equal(found.status, status, path);
        assert.match(found.body.error.message, /^Cannot .+: .+; .+/s, path);
      }
      const path = `calls/${id}/answer`;
      const posts: [number, unknown][] = [
        [400, "{"],
        [400, "[]"],
        [400, {}],
        [400, { question: "ok" }],
        [400, { question: "ok", action: "take" }],
        [400, { question: "ok", action: "accept", content: 1 }],
        [400, { question: "ok", action: "accept", content: { yes: "no" } }],
        [400, { question: "ok", action: "decline", via: "form" }],
        [409, { question: "other", action: "decline" }],
        [400, " ".repeat(1024 * 1024 + 1)],
      ];
      for (const [status, body] of posts) {
        assert.equal(
          (await server.post(path, body)).status,
          status,
          JSON.stringify(body).slice(0, 80),
        );
      }
      const plain = { "content-type": "text/plain" };
      assert.equal((await server.post(path, '{"question":"ok"}', plain)).status, 400);
      assert.equal((await server.get(`calls/${id}`)).body.lastLSN, 1);
    }));

  it("is closed to requests without the token, and to other origins", () =>
    serving(async (server) => {
      const id = await server.ask("tea");
      for (const path of ["calls", "watch", `calls/${id}`, `calls/${id}/events`]) {
        const without = await server.send(path, { headers: { "x-parley-console": "wrong" } });
        assert.equal(without.status, 401, path);
        const elsewhere = await server.send(path, { headers: { origin: "https://evil.example" } });
        assert.equal(elsewhere.status, 403, path);
      }
    }));
});

describe("/console/api/watch", () => {
  it("streams the changes of all calls, or of one", () =>
    serving(async (server) => {
      const all = new Changes(await server.send("watch"));
      const id = await server.ask("tea");
      assert.deepEqual(await all.next(), { id, tool: "ask", state: "waiting", lastLSN: 1 });
      const one = new Changes(await server.send(`calls/${id}/watch`));
      await server.ask("cake");
      await server.post(`calls/${id}/answer`, { question: "ok", action: "decline" });
      for (const changes of [all, one]) {
        let change = await changes.next();
        while (change!.state !== "completed") change = await changes.next();
        assert.equal(change!.id, id);
        await changes.leave();
      }
      assert.equal((await server.send("calls/nobody/watch")).status, 404);
    }));

  it("ends with its reader, after ten minutes, and with the server", async () => {
    const server = new Served();
    const left = new Changes(await server.send("watch"));
    await left.leave();
    const late = new Changes(await server.send("watch"));
    server.clock.advance(11 * 60_000);
    assert.equal(await late.next(), undefined);
    const open = new Changes(await server.send("watch"));
    await server.parley.close();
    assert.equal(await open.next(), undefined);
    assert.equal(server.clock.timers, 0);
  });

  it("refuses more than a hundred streams", () =>
    serving(async (server) => {
      const streams: Response[] = [];
      for (let n = 0; n < 100; n++) streams.push(await server.send("watch"));
      assert.equal((await server.send("watch")).status, 503);
      await streams.pop()!.body!.cancel();
      const again = await server.send("watch");
      assert.equal(again.status, 200);
      for (const { body } of [...streams, again]) await body!.cancel();
    }));
});
