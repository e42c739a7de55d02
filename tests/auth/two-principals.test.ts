import assert from "node:assert/strict";
import { createMcpResource, createMcpTool, type Parley } from "parley-mcp";
import { z } from "zod";
import { ABLE, TestClient as LegacyClient } from "../support/legacy/client.ts";
import { TASKS, TestClient as ModernClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";
import { ISSUER, RESOURCE, TestIssuer, whoami } from "./issuer.ts";

const question = { ok: { response: z.object({ yes: z.boolean() }) } };
const ask = createMcpTool("ask").description("Asks.").elicits(question).durable()
  .execute(function* (_, ctx) {
    const { action } = yield* ctx.elicit("ok", { message: "Sure?" });
    return `${action} for ${ctx.principal.subject} through ${ctx.principal.client}`;
  });
const later = createMcpTool("later").description("A task.").elicits(question).task()
  .execute(function* (_, ctx) {
    return (yield* ctx.elicit("ok", { message: "Sure?" })).action;
  });
const page = createMcpTool("page").description("Opens a page.").execute(function* (_, ctx) {
  const { url } = yield* ctx.usePage({
    stays: 600_000,
    *respond() {
      return new Response(`A page for ${ctx.principal.subject}`);
    },
  });
  return url;
});
const notes = createMcpResource("notes").uri("notes://{owner}")
  .lists(function* ({ principal }) {
    return [{ uri: `notes://${principal.subject}`, name: principal.id }];
  })
  .completes({
    *owner(_value, _others, { principal }) {
      return [principal.subject, principal.id];
    },
  })
  .read(function* ({ owner }, ctx) {
    return `${owner} read by ${ctx.principal.id}`;
  });

type Claims = { readonly [name: string]: unknown };

/** The owner, the same person with another token, and two others that look alike. */
const CALLERS = {
  owner: { sub: "alice" },
  refreshed: { sub: "alice", client_id: "another-client", scope: "mcp more" },
  stranger: { sub: "bob" },
  machine: { sub: "alice", client_id: "alice" },
} satisfies { [name: string]: Claims };
const OTHERS = ["stranger", "machine"] as const;

interface Scene {
  readonly parley: Parley;
  readonly issuer: TestIssuer;
  authorization(name: keyof typeof CALLERS): { authorization: string };
  modern(name: keyof typeof CALLERS): ModernClient;
  legacy(name: keyof typeof CALLERS): Promise<LegacyClient>;
}

async function scene(body: (scene: Scene) => Promise<void>): Promise<void> {
  const issuer = await TestIssuer.create();
  const parley = issuer.server({}, { serve: [whoami, ask, later, page, notes] });
  const tokens = Object.fromEntries(
    await Promise.all(
      Object.entries(CALLERS).map(async ([name, claims]) =>
        [name, await issuer.token({ claims })] as const
      ),
    ),
  );
  const authorization = (name: string) => ({ authorization: `Bearer ${tokens[name]}` });
  try {
    await body({
      parley,
      issuer,
      authorization,
      modern: (name) =>
        new ModernClient(parley.fetch, {
          headers: authorization(name),
          capabilities: { elicitation: { form: {} }, extensions: { [TASKS]: {} } },
        }),
      legacy: (name) =>
        LegacyClient.connect(parley.fetch, {
          headers: authorization(name),
          capabilities: ABLE,
        }),
    });
  } finally {
    await parley.close();
  }
}

describe("the property of one principal", () => {
  it("a legacy session: no other can use, resume or end it, and its owner can with a new token", () =>
    scene(async ({ legacy, authorization }) => {
      const owner = await legacy("owner");
      const call = await owner.call("ask");
      const asked = await call.expect("elicitation/create");
      const answer = {
        jsonrpc: "2.0",
        id: asked.id,
        result: { action: "accept", content: { yes: true } },
      };
      for (const other of OTHERS) {
        const stranger = authorization(other);
        const attempts: [string, Promise<Response>][] = [
          ["post", owner.post({ jsonrpc: "2.0", id: 99, method: "tools/list" }, stranger)],
          ["answer", owner.post(answer, stranger)],
          [
            "cancel",
            owner.post({
              jsonrpc: "2.0",
              method: "notifications/cancelled",
              params: { requestId: call.id },
            }, stranger),
          ],
          ["listen", owner.send("GET", { accept: "text/event-stream", ...stranger })],
          [
            "resume",
            owner.send("GET", {
              accept: "text/event-stream",
              "last-event-id": call.lastEventId!,
              ...stranger,
            }),
          ],
          ["end", owner.send("DELETE", stranger)],
        ];
        for (const [what, attempt] of attempts) {
          const response = await attempt;
          assert.equal(response.status, 404, `${what} by ${other}`);
          assert.ok(!(await response.text()).includes("alice"));
        }
        // A session of its own does not help: the question belongs to another one.
        const own = await legacy(other);
        assert.equal((await own.post(answer)).status, 400);
        const resumed = await own.send("GET", {
          accept: "text/event-stream",
          "last-event-id": call.lastEventId!,
        });
        assert.equal(resumed.status, 405);
        await resumed.body?.cancel();
      }
      assert.equal((await owner.post(answer, authorization("refreshed"))).status, 202);
      assert.equal(await call.text(), "accept for alice through a-client");
    }));

  it("a request state and a ticket: no other can continue the call, and its owner can", () =>
    scene(async ({ modern, authorization }) => {
      const asked = await modern("owner").call("ask");
      const again = {
        name: "ask",
        arguments: {},
        requestState: asked.requestState,
        inputResponses: { ok: { action: "accept", content: { yes: true } } },
      };
      for (const other of OTHERS) {
        const { error } = await modern(other).request("tools/call", again);
        assert.match(error.message, /requestState is not valid/);
      }
      const exchange = await modern("owner").start("tools/call", again, {
        headers: authorization("refreshed"),
      });
      // The tool sees the caller as it was when the call began.
      assert.equal(await exchange.text(), "accept for alice through a-client");
    }));

  it("a ticket: no other can continue the call with it", () =>
    scene(async ({ parley, authorization }) => {
      const bare = (name: keyof typeof CALLERS) =>
        new ModernClient(parley.fetch, { headers: authorization(name), capabilities: {} });
      const deferred = JSON.stringify(await bare("owner").call("ask"));
      const ticket = /"ticket":"([^"]+)"/.exec(deferred)?.[1] ??
        /ticket[^\w-]+([\w-]{40,})/.exec(deferred)?.[1];
      assert.ok(ticket, deferred);
      for (const other of OTHERS) {
        for (
          const args of [{ ticket }, { ticket, cancel: true }, { ticket, answer: { yes: true } }]
        ) {
          const result = await bare(other).call("continue_call", args);
          assert.equal(result.isError, true);
          assert.ok(!JSON.stringify(result).includes("Sure?"));
        }
      }
      const done = await bare("refreshed").call("continue_call", { ticket, cancel: true });
      assert.ok(!done.isError);
    }));

  it("a task: no other can see, answer, cancel or follow it", () =>
    scene(async ({ modern }) => {
      const { taskId } = await modern("owner").call("later");
      for (const other of OTHERS) {
        const client = modern(other);
        const missing = await client.request("tasks/get", { taskId: "nosuch" });
        for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
          const { error } = await client.request(method, {
            taskId,
            inputResponses: { ok: { action: "accept", content: { yes: true } } },
          });
          assert.equal(error.code, missing.error.code, method);
        }
        const listening = await client.start("subscriptions/listen", {
          notifications: { taskIds: [taskId] },
        });
        const acknowledged = await listening.message();
        assert.equal(acknowledged!.params.notifications.taskIds, undefined);
        await listening.leave();
      }
      const { result } = await modern("refreshed").request("tasks/get", { taskId });
      assert.equal(result.status, "input_required");
      await modern("owner").request("tasks/cancel", { taskId });
    }));

  it("a page: it opens for its owner only", () =>
    scene(async ({ modern, parley, authorization }) => {
      const result = await modern("owner").call("page");
      const url = result.content[0].text;
      const visit = (headers = {}) => parley.fetch(new Request(url, { headers }));
      assert.equal((await visit()).status, 401);
      for (const other of OTHERS) {
        const refused = await visit(authorization(other));
        assert.equal(refused.status, 403);
        assert.ok(!(await refused.text()).includes("alice"));
      }
      assert.equal(await (await visit(authorization("refreshed"))).text(), "A page for alice");
    }));

  it("lists and completions contain only what the caller may see, and are not shared by caches", () =>
    scene(async ({ modern, legacy }) => {
      const callers = [
        ["owner", "alice", "user"],
        ["stranger", "bob", "user"],
        ["machine", "alice", "client"],
      ] as const;
      for (const [name, subject, kind] of callers) {
        const id = `${ISSUER}|${kind}|${subject}`;
        for (const client of [modern(name), await legacy(name)]) {
          const { resources, cacheScope } = (await client.request("resources/list")).result;
          assert.equal(resources[0].uri, `notes://${subject}`);
          assert.equal(resources[0].name, id);
          assert.ok(cacheScope === undefined || cacheScope === "private");
          const { completion } = (await client.request("completion/complete", {
            ref: { type: "ref/resource", uri: "notes://{owner}" },
            argument: { name: "owner", value: "" },
          })).result;
          assert.deepEqual(completion.values, [subject, id]);
          const { contents } = (await client.request("resources/read", {
            uri: "notes://alice",
          })).result;
          assert.equal(contents[0].text, `alice read by ${id}`);
        }
      }
    }));

  it("hears of hidden definitions only if it may see them", () =>
    scene(async ({ parley, issuer, modern, legacy }) => {
      const headers = {
        authorization: `Bearer ${await issuer.token({ claims: { scope: "admin", sub: "eve" } })}`,
      };
      const heard: { [name: string]: string[] } = {};
      const subscribe = { notifications: { toolsListChanged: true } };
      const admin = new ModernClient(parley.fetch, { headers });
      const streams = {
        admin: await admin.start("subscriptions/listen", subscribe),
        stranger: await modern("stranger").start("subscriptions/listen", subscribe),
        "legacy admin": await (await LegacyClient.connect(parley.fetch, { headers })).listen(),
        "legacy stranger": await (await legacy("stranger")).listen(),
      };
      const seen = createMcpTool("seen").description("Seen.").execute(function* () {});
      const hidden = createMcpTool("hidden").description("Hidden.")
        .scopes("admin", { hidden: true }).execute(function* () {});
      parley.add(hidden);
      await new Promise((resolve) => setImmediate(resolve));
      parley.add(seen);
      const counts: { [name: string]: number } = {};
      const closed = parley.close();
      for (const [name, stream] of Object.entries(streams)) {
        const messages = await stream.rest();
        heard[name] = messages.map(({ method }) => method ?? "");
        counts[name] = heard[name].filter((method) => method.includes("tools/list_changed")).length;
      }
      await closed;
      assert.ok(
        counts["legacy admin"]! === 2 && counts["legacy stranger"] === 1,
        JSON.stringify(counts),
      );
      // The modern stream joins equal notifications that were not read yet.
      assert.ok(counts.admin! >= 1 && counts.stranger === 1, JSON.stringify(counts));
    }));

  it("notifications end when the token expires, and the stream of a call does not", () =>
    scene(async ({ issuer, parley }) => {
      const exp = issuer.clock.now() / 1_000 + 20;
      const short = await issuer.token({ claims: { ...CALLERS.owner, exp } });
      const headers = { authorization: `Bearer ${short}` };
      const subscription = await new ModernClient(parley.fetch, { headers }).start(
        "subscriptions/listen",
        { notifications: { toolsListChanged: true } },
      );
      assert.match((await subscription.message())!.method!, /acknowledged/);
      const client = await LegacyClient.connect(parley.fetch, { headers, capabilities: ABLE });
      const listening = await client.listen();
      const call = await client.call("ask");
      const asked = await call.expect("elicitation/create");
      // Clocks may differ, so tokens are accepted for five seconds more.
      issuer.clock.advance(25_000);
      assert.ok((await subscription.message())!.result);
      assert.deepEqual(await listening.rest(), []);
      const token = await issuer.token({ claims: CALLERS.owner });
      const answer = { jsonrpc: "2.0", id: asked.id, result: { action: "decline" } };
      const renewed = { authorization: `Bearer ${token}` };
      assert.equal((await client.post(answer, renewed)).status, 202);
      assert.equal(await call.text(), "decline for alice through a-client");
    }));

  it("a request without a token is refused", () =>
    scene(async ({ parley }) => {
      const response = await parley.fetch(new Request(RESOURCE, { method: "POST" }));
      assert.equal(response.status, 401);
    }));
});
