/** What the attacks of `attacks.ts` are tried on: a server, an owner, and an attacker. */
import assert from "node:assert/strict";
import { ensure, type Operation, until } from "effection";
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from "jose";
import { createMcpTool, type Fault, type Parley } from "parley-mcp";
import { z } from "zod";
import { useFakeSite } from "../client/oauth/fake-site.ts";
import { ABLE, initialize, TestClient as LegacyClient } from "../support/legacy/client.ts";
import { TASKS, TestClient as ModernClient } from "../support/modern/client.ts";
import { ISSUER, RESOURCE, TestIssuer } from "./issuer.ts";

const ORIGIN = new URL(RESOURCE).origin;
const question = { ok: { response: z.object({ yes: z.boolean() }) } };
const ask = createMcpTool("ask").description("Asks.").elicits(question).durable()
  .execute(function* (_, ctx) {
    return (yield* ctx.elicit("ok", { message: "The question of Alice" })).action;
  });
const later = createMcpTool("later").description("A task.").elicits(question).task()
  .execute(function* (_, ctx) {
    return (yield* ctx.elicit("ok", { message: "The question of Alice" })).action;
  });
const page = createMcpTool("page").description("Opens a page.").execute(function* (_, ctx) {
  const { url } = yield* ctx.usePage({
    stays: 600_000,
    *respond() {
      return new Response("The page of Alice");
    },
  });
  return url;
});

/** What Alice has left open. */
interface Open {
  readonly sessionId: string;
  readonly lastEventId: string;
  /** The parameters with which she would answer a question. */
  readonly retry: { readonly requestState: string; readonly inputResponses: object };
  readonly ticket: string;
  readonly taskId: string;
  readonly page: string;
  /** The id of her session over HTTP+SSE. */
  readonly sseSession: string;
  /** Throws if something that she has left open was changed, and continues her call. */
  check(): Promise<void>;
}

export interface AttackScene {
  readonly issuer: TestIssuer;
  readonly parley: Parley;
  readonly alice: Open;
  /** The token of Bob, who attacks. */
  readonly bob: string;
  /** What the operator was told. */
  readonly log: string[];
  /** All tokens and other secrets that were used. */
  readonly secrets: string[];
  send(url: string, init?: RequestInit): Promise<Response>;
  /** Lists the tools with a token. */
  list(token: string): Promise<Response>;
  /** Lists the tools of another server, which has not loaded the keys of the issuer yet. */
  listAfresh(token: string): Promise<Response>;
  /** A request of Bob in a legacy session. */
  session(method: string, id: string, lastEventId?: string): Promise<Response>;
  /** A message of Bob over HTTP+SSE. */
  message(sessionId: string): Promise<Response>;
  /** Opens a legacy session for Bob. */
  ownSession(): Promise<string>;
  /** A call of Bob. */
  call(name: string, args: object, more?: object): Promise<Response>;
  task(method: string, taskId: string): Promise<Response>;
  /** Subscribes to a task. Returns what the server acknowledges. */
  subscribe(taskId: string): Promise<Response>;
  /** A token that is bound to a key. */
  bound(): Promise<{ readonly token: string; readonly key: CryptoKeyPair }>;
  /** Begins to sign in, in a browser. */
  begin(): Promise<{ readonly cookie: string; readonly state: string }>;
  /** Returns from the issuer. `cookie` is that of the attempt unless given; null for none. */
  callback(change: { readonly iss?: string }, cookie?: string | null): Promise<Response>;
  /** Signs our own client in, with the answer of another issuer. Returns its error as a response. */
  clientMixUp(): Operation<Response>;
}

const SCOPED = { scopes: ["mcp"], signIn: { clientId: "pages" } };

export function* useScene(): Operation<AttackScene> {
  const issuer = yield* until(TestIssuer.create());
  const log: string[] = [];
  const secrets: string[] = [];
  const told = (fault: Fault) => void log.push(`${fault.what} ${fault.error}`);
  const parley = issuer.server(
    { ...SCOPED, onRefused: ({ reason }) => void log.push(reason) },
    { serve: [ask, later, page], legacySse: true, report: told },
  );
  issuer.answers["/.well-known/openid-configuration"] = () =>
    Response.json({
      issuer: ISSUER,
      jwks_uri: `${ISSUER}/jwks`,
      authorization_endpoint: `${ISSUER}/auth`,
      token_endpoint: `${ISSUER}/token`,
      authorization_response_iss_parameter_supported: true,
    });
  const token = async (sub: string) => {
    const given = await issuer.token({ claims: { sub } });
    secrets.push(given);
    return given;
  };
  const open = yield* until(token("alice").then((given) => openedBy(parley, given)));
  const bob = yield* until(token("bob"));
  secrets.push(open.retry.requestState, open.ticket);
  yield* ensure(() => until(parley.close()));
  return sceneOf({ issuer, parley, log, secrets, bob, alice: open });
}

type Parts = Pick<AttackScene, "issuer" | "parley" | "log" | "secrets" | "bob" | "alice">;

function sceneOf(parts: Parts): AttackScene {
  const { issuer, parley, secrets, bob } = parts;
  const headers = { authorization: `Bearer ${bob}` };
  const capabilities = { elicitation: { form: {} }, extensions: { [TASKS]: {} } };
  const attacker = new ModernClient(parley.fetch, { headers, capabilities });
  const listWith = async (server: Parley, token: string) => {
    secrets.push(token);
    const given = { authorization: `Bearer ${token}` };
    const client = new ModernClient(server.fetch, { headers: given });
    return (await client.start("tools/list")).response;
  };
  const send: AttackScene["send"] = (url, init) => parley.fetch(new Request(url, init));
  const scene: AttackScene = {
    ...parts,
    send,
    list: (token) => listWith(parley, token),
    listAfresh: async (token) => {
      const { log } = parts;
      const onRefused = ({ reason }: { reason: string }) => void log.push(reason);
      const afresh = issuer.server({ ...SCOPED, onRefused });
      const response = await listWith(afresh, token);
      await afresh.close();
      return response;
    },
    session: (method, id, lastEventId) => {
      const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
      return send(RESOURCE, {
        method,
        headers: {
          ...headers,
          "content-type": "application/json",
          accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
          "mcp-session-id": id,
          ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
        },
        ...(method === "POST" && { body: JSON.stringify(body) }),
      });
    },
    message: (sessionId) =>
      send(`${ORIGIN}/messages?sessionId=${sessionId}`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      }),
    ownSession: async () => {
      const client = new LegacyClient(parley.fetch, { headers });
      const response = await client.post(initialize());
      await response.text();
      return response.headers.get("mcp-session-id")!;
    },
    call: async (name, args, more = {}) =>
      (await attacker.start("tools/call", { name, arguments: args, ...more })).response,
    task: async (method, taskId) => {
      const inputResponses = { ok: { action: "accept", content: { yes: true } } };
      return (await attacker.start(method, { taskId, inputResponses })).response;
    },
    subscribe: async (taskId) => {
      const notifications = { taskIds: [taskId] };
      const { response } = await attacker.start("subscriptions/listen", { notifications });
      const reader = response.body!.getReader();
      const { value } = await reader.read();
      await reader.cancel();
      return new Response(value, response);
    },
    bound: async () => {
      const key = await generateKeyPair("ES256", { extractable: true }) as CryptoKeyPair;
      const jkt = await calculateJwkThumbprint(await exportJWK(key.publicKey));
      const token = await issuer.token({ claims: { sub: "bob", cnf: { jkt } } });
      secrets.push(token);
      return { token, key };
    },
    begin: async () => {
      const response = await send(parts.alice.page, { headers: { accept: "text/html" } });
      const [cookie] = response.headers.getSetCookie()[0]!.split(";");
      const { state } = Object.fromEntries(
        new URL(response.headers.get("location")!).searchParams,
      );
      secrets.push(cookie!.split("=")[1]!);
      return { cookie: cookie!, state: state! };
    },
    callback: async (change, given) => {
      const attempt = await scene.begin();
      const url = new URL("/signed-in", RESOURCE);
      const parameters = { code: "the-code", state: attempt.state, iss: ISSUER, ...change };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      const cookie = given === undefined ? attempt.cookie : given;
      secrets.push("the-code", attempt.state);
      return await send(url.href, { headers: cookie === null ? {} : { cookie } });
    },
    *clientMixUp() {
      const site = yield* useFakeSite();
      const browse = (page: URL) => site.browse(page, { iss: "https://evil.example" });
      secrets.push("code-1", "access-1", "refresh-1");
      try {
        yield* site.oauth({ browse }).retry(site.refusal(), undefined);
      } catch (error) {
        if (site.grants().length > 0) throw new Error("the code was sent");
        const headers = { "content-type": "text/plain" };
        return new Response((error as Error).message, { status: 400, headers });
      }
      throw new Error("the client has signed in");
    },
  };
  return scene;
}

async function openedBy(parley: Parley, token: string): Promise<Open> {
  const headers = { authorization: `Bearer ${token}` };
  const legacy = await LegacyClient.connect(parley.fetch, { headers, capabilities: ABLE });
  const sse = await new LegacyClient(parley.fetch, { headers, url: `${ORIGIN}/sse` }).listen();
  const { data } = (await sse.frame())!;
  const call = await legacy.call("ask");
  const asked = await call.expect("elicitation/create");
  const capabilities = { elicitation: { form: {} }, extensions: { [TASKS]: {} } };
  const modern = new ModernClient(parley.fetch, { headers, capabilities });
  const { requestState } = await modern.call("ask");
  const bare = new ModernClient(parley.fetch, { headers, capabilities: {} });
  const deferred = JSON.stringify(await bare.call("ask"));
  const { taskId } = await modern.call("later");
  const inputResponses = { ok: { action: "accept", content: { yes: true } } };
  const retry = { requestState, inputResponses };
  return {
    sessionId: legacy.sessionId!,
    lastEventId: call.lastEventId!,
    sseSession: new URL(data!, ORIGIN).searchParams.get("sessionId")!,
    retry,
    async check() {
      const { result } = await modern.request("tasks/get", { taskId });
      assert.equal(result.status, "input_required");
      const continued = await modern.request("tools/call", {
        name: "ask",
        arguments: {},
        ...retry,
      });
      assert.equal(continued.result.content[0].text, "accept");
      assert.equal((await legacy.answer(asked, { action: "decline" })).status, 202);
      assert.equal(await call.text(), "decline");
      await sse.leave();
    },
    ticket: /"ticket":"([^"]+)"/.exec(deferred)?.[1] ??
      /ticket[^\w-]+([\w-]{40,})/.exec(deferred)![1]!,
    taskId,
    page: (await modern.call("page")).content[0].text,
  };
}
