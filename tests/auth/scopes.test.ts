import assert from "node:assert/strict";
import {
  createMcpPrompt,
  createMcpResource,
  createMcpTool,
  DefinitionError,
  type Parley,
  Sealer,
} from "parley-mcp";
import { z } from "zod";
import { BrowserSessions } from "../../src/auth/browser-session.ts";
import { ABLE, TestClient } from "../support/legacy/client.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { describe, it } from "../suite.ts";
import { ISSUER, TestIssuer, whoami } from "./issuer.ts";

const book = createMcpTool("book").description("Books.").scopes("flights:book")
  .execute(function* (_, ctx) {
    return `Booked with ${ctx.principal.scopes.join(" ")}`;
  });
const secret = createMcpTool("secret").description("Hidden.").scopes("admin", { hidden: true })
  .execute(function* () {
    return "A secret";
  });
const ask = createMcpTool("ask").description("Asks.").scopes("flights:book")
  .elicits({ ok: { response: z.object({ yes: z.boolean() }) } })
  .execute(function* (_, ctx) {
    return (yield* ctx.elicit("ok", { message: "Sure?" })).action;
  });
const later = createMcpTool("later").description("A task.").scopes("flights:book").task()
  .elicits({ ok: { response: z.object({ yes: z.boolean() }) } })
  .execute(function* (_, ctx) {
    return (yield* ctx.elicit("ok", { message: "Sure?" })).action;
  });
const plan = createMcpPrompt("plan").description("Plans.").scopes("flights:read")
  .arguments(z.object({ to: z.string() }))
  .completes({
    *to(_value, _others, { principal }) {
      return [principal.subject];
    },
  })
  .execute(function* ({ to }) {
    return `Plan ${to}`;
  });
const hiddenPrompt = createMcpPrompt("hidden_prompt").description("Hidden.")
  .scopes("admin", { hidden: true }).execute(function* () {
    return "x";
  });
const seats = createMcpResource("seats").uri("seats://all").scopes("flights:read")
  .read(function* () {
    return "12A";
  });
const notes = createMcpResource("notes").uri("notes://{name}")
  .lists(function* ({ principal }) {
    return [{ uri: `notes://${principal.subject}`, name: "yours" }];
  })
  .read(function* () {
    return "x";
  });
const vault = createMcpResource("vault").uri("vault://all").scopes("admin", { hidden: true })
  .read(function* () {
    return "gold";
  });

const serve = [whoami, book, secret, ask, later, plan, hiddenPrompt, seats, notes, vault];
const AUTH = {
  scopes: ["mcp"],
  scopeHierarchy: { all: ["flights:book"], "flights:book": ["flights:read"] },
};

interface Scene {
  readonly issuer: TestIssuer;
  readonly parley: Parley;
  headers(scope: string, sub?: string): Promise<{ authorization: string }>;
  modern(scope: string): Promise<ModernClient>;
  legacy(scope: string): Promise<TestClient>;
}

async function scene(body: (scene: Scene) => Promise<void>): Promise<void> {
  const issuer = await TestIssuer.create();
  const parley = issuer.server(AUTH, { serve });
  const headers = async (scope: string, sub = "alice") => ({
    authorization: `Bearer ${await issuer.token({ claims: { scope, sub } })}`,
  });
  try {
    await body({
      issuer,
      parley,
      headers,
      modern: async (scope) =>
        new ModernClient(parley.fetch, {
          headers: await headers(scope),
          capabilities: {
            elicitation: { form: {} },
            extensions: { "io.modelcontextprotocol/tasks": {} },
          },
        }),
      legacy: async (scope) =>
        TestClient.connect(parley.fetch, { headers: await headers(scope), capabilities: ABLE }),
    });
  } finally {
    await parley.close();
  }
}

const CHALLENGE =
  /^Bearer error="insufficient_scope", scope="mcp flights:book", resource_metadata="http/;

describe(".scopes()", () => {
  it("lists a tool to everybody, and refuses a call without its scopes with 403, in both eras", () =>
    scene(async ({ modern, legacy }) => {
      for (const client of [await modern("mcp"), await legacy("mcp")]) {
        const tools = (await client.request("tools/list")).result.tools;
        assert.ok(tools.some(({ name }: { name: string }) => name === "book"));
        const refused = await client.start("tools/call", { name: "book", arguments: {} });
        assert.equal(refused.status, 403);
        assert.ok(!refused.isStream);
        assert.match(refused.response.headers.get("www-authenticate")!, CHALLENGE);
        assert.equal((await refused.message())!.id, refused.id);
      }
    }));

  it("counts scopes that include others", () =>
    scene(async ({ modern }) => {
      const [all, none] = [await modern("mcp all"), await modern("mcp flights:read")];
      assert.equal((await all.call("book")).content[0].text, "Booked with mcp all");
      assert.equal((await all.start("resources/read", { uri: "seats://all" })).status, 200);
      const refused = await none.start("tools/call", { name: "book", arguments: {} });
      assert.equal(refused.status, 403);
      await refused.leave();
    }));

  it("guards prompts, resources, completions and subscriptions too", () =>
    scene(async ({ modern, legacy }) => {
      const ref = { type: "ref/prompt", name: "plan" };
      const argument = { name: "to", value: "" };
      const requests: [string, object][] = [
        ["prompts/get", { name: "plan", arguments: { to: "x" } }],
        ["resources/read", { uri: "seats://all" }],
        ["completion/complete", { ref, argument }],
      ];
      for (const [method, params] of requests) {
        for (const client of [await modern("mcp"), await legacy("mcp")]) {
          const refused = await client.start(method, params as never);
          assert.equal(refused.status, 403, method);
          await refused.leave();
        }
        for (const client of [await modern("mcp flights:read"), await legacy("mcp flights:read")]) {
          const { result } = await client.request(method, params as never);
          assert.ok(result, method);
          if (result.completion) assert.deepEqual(result.completion.values, ["alice"]);
        }
      }
      const refused = await (await legacy("mcp")).start("resources/subscribe", {
        uri: "seats://all",
      });
      assert.equal(refused.status, 403);
      await refused.leave();
    }));

  it("hides a definition from callers without its scopes, as if it did not exist", () =>
    scene(async ({ modern, legacy }) => {
      const names = (list: { name: string }[]) => list.map(({ name }) => name);
      for (const client of [await modern("mcp"), await legacy("mcp")]) {
        const { tools } = (await client.request("tools/list")).result;
        assert.deepEqual(names(tools), [
          "whoami",
          "book",
          "ask",
          "later",
          "continue_call",
          "answer_call",
        ]);
        const { prompts } = (await client.request("prompts/list")).result;
        assert.deepEqual(names(prompts), ["plan"]);
        const { resources } = (await client.request("resources/list")).result;
        assert.deepEqual(names(resources), ["seats", "yours"]);
        const hidden =
          (await client.request("tools/call", { name: "secret", arguments: {} })).error;
        const missing =
          (await client.request("tools/call", { name: "nosuch", arguments: {} })).error;
        assert.deepEqual(
          JSON.stringify(hidden).replaceAll("secret", "nosuch"),
          JSON.stringify(missing),
        );
        const closed = (await client.request("resources/read", { uri: "vault://all" })).error;
        const none = (await client.request("resources/read", { uri: "nosuch://all" })).error;
        assert.deepEqual(
          JSON.stringify(closed).replaceAll("vault", "nosuch"),
          JSON.stringify(none),
        );
      }
      const admin = await modern("mcp admin");
      const { tools, cacheScope } = (await admin.request("tools/list")).result;
      assert.ok(names(tools).includes("secret"));
      assert.equal(cacheScope, "private");
      assert.equal((await admin.call("secret")).content[0].text, "A secret");
    }));

  it("refuses an answer or a retry of a caller that has lost the scope", () =>
    scene(async ({ legacy, modern, headers }) => {
      const weak = (await headers("mcp")).authorization;
      const asking = await modern("mcp flights:book");
      const asked = await asking.call("ask");
      const again = {
        name: "ask",
        arguments: {},
        requestState: asked.requestState,
        inputResponses: { ok: { action: "accept", content: { yes: true } } },
      };
      const refused = await asking.start("tools/call", again, { headers: { authorization: weak } });
      assert.equal(refused.status, 403);
      await refused.leave();
      const done = await asking.start("tools/call", again);
      assert.equal(await done.text(), "accept");

      const client = await legacy("mcp flights:book");
      const call = await client.call("ask");
      const question = await call.expect("elicitation/create");
      const answer = { jsonrpc: "2.0", id: question.id, result: { action: "decline" } };
      const lost = await client.post(answer, { authorization: weak });
      assert.equal(lost.status, 403);
      await lost.body?.cancel();
      const resumed = await client.send("GET", {
        accept: "text/event-stream",
        authorization: weak,
        "last-event-id": call.lastEventId!,
      });
      assert.equal(resumed.status, 403);
      await resumed.body?.cancel();
      assert.equal((await client.post(answer)).status, 202);
      assert.equal(await call.text(), "decline");
    }));

  it("refuses a task's caller that has lost the scope", () =>
    scene(async ({ modern, headers }) => {
      const client = await modern("mcp flights:book");
      const { taskId } = await client.call("later");
      const { authorization } = await headers("mcp");
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
        const params = { taskId, inputResponses: {} };
        const refused = await client.start(method, params, { headers: { authorization } });
        assert.equal(refused.status, 403, method);
        await refused.leave();
      }
      assert.ok((await client.request("tasks/get", { taskId })).result);
      await client.request("tasks/cancel", { taskId });
    }));

  it("refuses a batch with a call that lacks a scope, before any call of it runs", () =>
    scene(async ({ parley, headers }) => {
      const client = await TestClient.connect(parley.fetch, {
        version: "2025-03-26",
        headers: await headers("mcp"),
      });
      const call = (id: number, name: string) => ({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name, arguments: {} },
      });
      const response = await client.post([call(7, "whoami"), call(8, "book")]);
      assert.equal(response.status, 403);
      assert.match(response.headers.get("www-authenticate")!, CHALLENGE);
      await response.body?.cancel();
      assert.equal(parley.counts.live, 0);
    }));

  it("refuses an invalid scope when the tool is defined", () => {
    const tool = createMcpTool("t").description("d");
    const execute = function* () {};
    for (const scope of ["", "two scopes", 'a"b', "offline_access"]) {
      assert.throws(() => tool.scopes(scope).execute(execute), DefinitionError, scope);
    }
    assert.throws(() => tool.scopes({} as never).execute(execute), DefinitionError);
  });
});

describe("the page of a tool with scopes", () => {
  const open = createMcpTool("open").description("Opens a page.").scopes("flights:book")
    .execute(function* (_, ctx) {
      const { url } = yield* ctx.usePage({
        stays: 86_400_000,
        *respond() {
          return new Response("The page");
        },
      });
      return url;
    });
  const ALICE = { id: `${ISSUER}|user|alice`, subject: "alice", issuer: ISSUER, claims: {} };
  const HTML = { accept: "text/html" };

  async function opened(
    body: (scene: {
      issuer: TestIssuer;
      page: string;
      /** The status, the challenge and the body of a visit. */
      visit(headers: { [name: string]: string }, method?: string): Promise<Response>;
      /** The cookie of a session with these scopes, after the issuer was asked for others. */
      session(scopes: string[], asked?: string[]): { cookie: string };
    }) => Promise<void>,
  ): Promise<void> {
    const issuer = await TestIssuer.create();
    issuer.answers["/.well-known/openid-configuration"] = () =>
      Response.json({
        issuer: ISSUER,
        jwks_uri: `${ISSUER}/jwks`,
        authorization_endpoint: `${ISSUER}/auth`,
      });
    const sealer = new Sealer("a key that both have");
    const auth = { ...AUTH, signIn: { clientId: "pages" } };
    const parley = issuer.server(auth, { serve: [open], sealer });
    const token = await issuer.token({ claims: { scope: "mcp flights:book" } });
    const headers = { authorization: `Bearer ${token}` };
    const { content } = await new ModernClient(parley.fetch, { headers }).call("open");
    const sessions = new BrowserSessions(sealer, () => false);
    try {
      await body({
        issuer,
        page: content[0].text,
        visit: (headers, method = "GET") =>
          parley.fetch(new Request(content[0].text, { method, headers })),
        session: (scopes, asked) => {
          const [cookie] = sessions.begin({ ...ALICE, scopes }, issuer.clock.now(), asked)
            .split(";");
          return { cookie: cookie! };
        },
      });
    } finally {
      await parley.close();
    }
  }

  it("does not open for a token of its owner that has lost the scope", () =>
    opened(async ({ issuer, visit }) => {
      for (const [scope, status] of [["mcp flights:book", 200], ["mcp", 403]] as const) {
        const token = await issuer.token({ claims: { scope } });
        const response = await visit({ authorization: `Bearer ${token}` });
        assert.equal(response.status, status);
        if (status === 403) assert.match(response.headers.get("www-authenticate")!, CHALLENGE);
        assert.equal((await response.text()).includes("The page"), status === 200);
      }
    }));

  it("lets a person sign in for the scope once, and refuses if that does not help", () =>
    opened(async ({ visit, session }) => {
      const first = await visit({ ...HTML, ...session(["mcp"]) });
      assert.equal(first.status, 303);
      const asked = new URL(first.headers.get("location")!).searchParams.get("scope");
      assert.equal(asked, "mcp flights:book");
      const denied = session(["mcp"], ["mcp", "flights:book"]);
      for (const method of ["GET", "POST"]) {
        const refused = await visit({ ...HTML, ...denied }, method);
        assert.equal(refused.status, 403);
        assert.match(refused.headers.get("www-authenticate")!, CHALLENGE);
        assert.match(await refused.text(), /You may not use this page/);
      }
      const granted = await visit({ ...HTML, ...session(["mcp", "flights:book"]) });
      assert.equal(await granted.text(), "The page");
    }));
});
