import assert from "node:assert/strict";
import { Client, ProtocolError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  createMcpPrompt,
  createMcpResource,
  createMcpTool,
  type Parley,
  type ParleyOptions,
} from "parley-mcp";
import { all } from "effection";
import { z } from "zod";
import { onSocket } from "../../support/socket.ts";
import { Gate } from "../../support/gate.ts";
import { greetAll } from "../../support/tools.ts";
import { describe, it } from "../../suite.ts";

const town = { town: { response: z.object({ town: z.string() }) } };

const prompt = createMcpPrompt("welcome").description("A welcome").elicits(town)
  .execute(function* (_args, ctx) {
    const answer = yield* ctx.elicit("town", { message: "Where?" });
    return answer.action === "accept" ? `Welcome to ${answer.content.town}` : "Welcome";
  });

const resource = createMcpResource("map").uri("map://tøwn").elicits(town)
  .read(function* (_address, ctx) {
    const answer = yield* ctx.elicit("town", { message: "Which town?" });
    return answer.action === "accept" ? `Map of ${answer.content.town}` : "No map";
  });

const routed = createMcpTool("routed").description("Is routed by its parameters")
  .parameters(z.object({
    region: z.string().meta({ "x-mcp-header": "Region" }),
    shard: z.int().meta({ "x-mcp-header": "Shard" }),
    dry: z.boolean().meta({ "x-mcp-header": "Dry-Run" }).optional(),
  }))
  .execute(function* (params) {
    return JSON.stringify(params);
  });

const both = createMcpTool("both").description("Asks two things at once").elicits(town)
  .execute(function* (_params, ctx) {
    const answers = yield* all([
      ctx.elicit("town", { message: "From?" }),
      ctx.elicit("town", { message: "To?" }),
    ]);
    return answers.map((answer) => answer.action === "accept" ? answer.content.town : "-").join();
  });

const needy = createMcpTool("needy").description("Needs roots").requires({ roots: true })
  .execute(function* () {
    return "ran";
  });

type Fields = { readonly [name: string]: string };

interface Kit {
  readonly client: Client;
  readonly parley: Parley;
  readonly asked: string[];
}

/** A modern client on a socket that answers every form. */
function connected(
  serve: NonNullable<ParleyOptions["serve"]>,
  body: (kit: Kit) => Promise<void>,
): () => Promise<void> {
  return () =>
    onSocket({ serve }, async (url, parley) => {
      const client = new Client({ name: "official", version: "1.0.0" }, {
        capabilities: { elicitation: { form: {} } },
        versionNegotiation: { mode: "auto" },
      });
      const asked: string[] = [];
      client.setRequestHandler("elicitation/create", ({ params }) => {
        asked.push(params.message);
        const count = asked.length;
        return { action: "accept", content: { town: `T${count}`, name: `N${count}` } };
      });
      try {
        await client.connect(new StreamableHTTPClientTransport(new URL(url)));
        assert.equal(client.getNegotiatedProtocolVersion(), "2026-07-28");
        await body({ client, parley, asked });
      } finally {
        await client.close();
      }
    });
}

describe("the official modern client", () => {
  it(
    "answers questions of prompts and resources as of tools",
    connected([prompt, resource], async ({ client, asked }) => {
      const got = await client.getPrompt({ name: "welcome" });
      assert.deepEqual(got.messages[0]?.content, { type: "text", text: "Welcome to T1" });
      const read = await client.readResource({ uri: "map://tøwn" });
      assert.equal((read.contents[0] as { text: string }).text, "Map of T2");
      assert.deepEqual(asked, ["Where?", "Which town?"]);
    }),
  );

  it(
    "gets nine rounds of questions in one request, and concurrent questions in one round",
    connected([greetAll, both], async ({ client, asked }) => {
      const many = await client.callTool({ name: "greet_all", arguments: { count: 9 } });
      assert.match(JSON.stringify(many.content), /N1 and N2 .* and N9!/);
      assert.equal(asked.length, 9);
      const two = await client.callTool({ name: "both", arguments: {} });
      assert.deepEqual(two.content, [{ type: "text", text: "T10,T11" }]);
    }),
  );

  it(
    "continues a call with more questions than it allows rounds",
    connected([greetAll], async ({ client, asked }) => {
      let result = await client.callTool({ name: "greet_all", arguments: { count: 20 } });
      const deferrals: string[] = [];
      for (;;) {
        const { status, ticket, message } = (result.structuredContent ?? {}) as Fields;
        if (status !== "waiting") break;
        deferrals.push(message!);
        assert.equal(asked.length, deferrals.length * 9);
        result = await client.callTool({ name: "continue_call", arguments: { ticket } });
      }
      assert.match(JSON.stringify(result.content), /N1 and N2 .* and N20!/);
      assert.equal(asked.length, 20);
      assert.equal(deferrals.length, 2, "one for each ten rounds");
      for (const message of deferrals) assert.match(message, /Call continue_call with .* now/);
    }),
  );

  it(
    "copies parameters into headers, plain and encoded",
    connected([routed], async ({ client }) => {
      await client.listTools();
      for (const region of ["eu-1", "Süd ☀", " padded ", "", "=?base64?x?="]) {
        const args = { region, shard: -7, dry: true };
        const { content } = await client.callTool({ name: "routed", arguments: args });
        assert.deepEqual(JSON.parse((content[0] as { text: string }).text), args);
      }
    }),
  );

  it(
    "understands protocol errors",
    connected([needy], async ({ client }) => {
      const isError = (code: number) => (error: unknown) =>
        error instanceof ProtocolError && error.code === code;
      await assert.rejects(client.callTool({ name: "needy", arguments: {} }), isError(-32021));
      await assert.rejects(client.callTool({ name: "nobody", arguments: {} }), isError(-32602));
    }),
  );

  it("cancels by closing the response", async () => {
    const gate = new Gate();
    const ended = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const slow = createMcpTool("slow").description("Takes long").execute(function* (_params, ctx) {
      try {
        yield* ctx.notify("started", 1);
        started.resolve();
        yield* gate.pass();
        return "done";
      } finally {
        ended.resolve();
      }
    });
    await connected([slow], async ({ client, parley }) => {
      const leaving = new AbortController();
      const call = client.callTool({ name: "slow", arguments: {} }, {
        signal: leaving.signal,
        onprogress: () => leaving.abort(),
      });
      await started.promise;
      await assert.rejects(call);
      await ended.promise;
      assert.equal(parley.counts.live, 0);
    })();
  });

  it("gets changes while it listens, and learns that the server has ended that", async () => {
    await connected([greetAll, resource], async ({ client, parley }) => {
      const heard = Promise.withResolvers<string>();
      client.setNotificationHandler("notifications/tools/list_changed", () => {
        parley.resourceUpdated("map://tøwn");
      });
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
        heard.resolve(params.uri);
      });
      const subscription = await client.listen({
        toolsListChanged: true,
        resourceSubscriptions: ["map://tøwn"],
      });
      assert.deepEqual(subscription.honoredFilter, {
        toolsListChanged: true,
        resourceSubscriptions: ["map://tøwn"],
      });
      parley.add(both);
      assert.equal(await heard.promise, "map://tøwn");
      const { tools } = await client.listTools();
      assert.deepEqual(tools.map(({ name }) => name), [
        "greet_all",
        "both",
        "continue_call",
        "answer_call",
      ]);
      await parley.close();
      assert.equal(await subscription.closed, "graceful");
    })();
  });
});
