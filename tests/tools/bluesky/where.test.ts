/** Where the tools may be used, and whose accounts are whose. */
import assert from "node:assert/strict";
import { until } from "effection";
import { Accounts } from "../../../tools/bluesky/accounts.ts";
import { describe, it } from "../../suite.ts";
import { useAssistant } from "./assistant.ts";
import { PERSON } from "./fake-service.ts";
import { script, typeInto, useFakeWorld } from "./fake-world.ts";

const { handle, appPassword } = PERSON;
const principal = (request: Request) =>
  request.headers.get("x-person") ?? new Response("Who are you?", { status: 401 });
const as = (name: string) => ({ "x-person": name });
const PUBLIC = "https://tools.example/parley";

describe("the Bluesky tools", () => {
  it("are refused on a shared server that does not identify its callers", function* () {
    for (const publicUrl of [undefined, PUBLIC]) {
      const { call, service, vault } = yield* useFakeWorld({
        can: "nothing",
        publicUrl: () => publicUrl,
      });
      for (
        const [name, args] of [
          ["login", { handle, password: appPassword }],
          ["login", { command: "list" }],
          ["profile", {}],
          ["search", { query: "x" }],
        ] as const
      ) {
        const { isError, text } = yield* call(name, args);
        assert.equal(isError, true);
        assert.match(
          text,
          /other people can reach this server, and it does not identify its callers/,
        );
        assert.match(
          text,
          /use the tool on your own machine \(stdio or loopback\), or ask the server's operator/,
        );
      }
      assert.deepEqual([service.asked.length, vault.documents.size], [0, 0]);
    }
  });

  it("keep the accounts of each caller apart, and callers' names out of the store", function* () {
    const world = yield* useFakeWorld({
      can: "nothing",
      principal,
      publicUrl: () => PUBLIC,
      headers: as("ann@example.com"),
    });
    const { call, signIn, vault, url, service } = world;
    yield* signIn();
    assert.equal((yield* call("login", { command: "list" })).data.accounts.length, 1);
    const ben = yield* useAssistant({ url, headers: as("ben") }, "modern", "nothing");
    const list = yield* until(ben.call("login", { command: "list" }));
    assert.deepEqual([list.data.accounts, list.data.default], [[], undefined]);
    assert.match((yield* until(ben.call("profile"))).text, /nobody is signed in/);
    const deleted = yield* until(ben.call("login", { command: "delete", handle }));
    assert.equal(deleted.isError, true);
    assert.equal((yield* call("profile")).isError, false);
    assert.equal(service.of("deleteSession").length, 0);
    assert.ok([...vault.documents.keys()].every((name) => !name.includes("ann")));
    assert.equal((yield* until(new Accounts(vault, "ann@example.com").list())).length, 1);
  });

  it("on a public server, show the page to its owner only", function* () {
    const { assistant, call, url, vault } = yield* useFakeWorld({
      principal,
      publicUrl: () => PUBLIC,
      headers: as("ann"),
    });
    // What a proxy in front of the server does with one of our addresses.
    const here = (address: string) => address.replace(PUBLIC, new URL(url).origin);
    const post = (address: string, headers: Record<string, string>) =>
      fetch(here(address), {
        method: "POST",
        headers: { ...headers, origin: new URL(url).origin },
        body: new URLSearchParams({ handle, password: appPassword }),
      });
    let typed = Promise.resolve<number[]>([]);
    assistant.answer = script(({ url: page }) => {
      assert.ok(page!.startsWith(`${PUBLIC}/pages/`), page);
      typed = (async () => {
        const statuses: number[] = [];
        for (const headers of [{}, as("mallory"), as("ann")]) {
          const response = await post(page!, headers);
          const text = await response.text();
          if (response.ok) assert.match(text, /You are signed in as/);
          statuses.push(response.status);
        }
        return statuses;
      })();
      return { action: "accept" };
    });
    const { data, text } = yield* call("login", { method: "page" });
    assert.equal(data?.accounts.length, 1, text);
    assert.deepEqual(yield* until(typed), [401, 403, 200]);
    assert.equal((yield* until(new Accounts(vault, "ann").list())).length, 1);
  });

  it("on a public server, publish their OAuth client metadata", function* () {
    const { call, url } = yield* useFakeWorld({
      can: "nothing",
      principal,
      publicUrl: () => PUBLIC,
      headers: as("ann"),
    });
    const address = `${new URL(url).origin}/bluesky/client-metadata.json`;
    const { text } = yield* call("login");
    assert.match(text, new RegExp(`${PUBLIC}/pages/[^\\s]+/oauth`));
    yield* call("login");
    const response = yield* until(fetch(address));
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.deepEqual(yield* until(response.json()), {
      client_id: `${PUBLIC}/bluesky/client-metadata.json`,
      client_name: "Parley",
      client_uri: "https://tools.example",
      redirect_uris: [`${PUBLIC}/bluesky/callback`],
      scope: "atproto transition:generic",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "web",
      dpop_bound_access_tokens: true,
    });
  });

  it("on a public server without encryption, offer the page, but no OAuth", function* () {
    const { call } = yield* useFakeWorld({
      can: "nothing",
      principal,
      publicUrl: () => "http://tools.example",
      headers: as("ann"),
    });
    const { text } = yield* call("login");
    assert.doesNotMatch(text, /\/oauth/);
    assert.match(text, /http:\/\/tools\.example\/pages\//);
    assert.match((yield* call("login", { method: "oauth" })).text, /Cannot sign in with a browser/);
  });

  it("without a public address, accept passwords only, and say why", function* () {
    const options = { principal, publicUrl: () => undefined, headers: as("ann") };
    const nothing = yield* useFakeWorld({ ...options, can: "nothing" });
    const { text } = yield* nothing.call("login");
    assert.match(text, /Test Assistant cannot show questions/);
    assert.doesNotMatch(text, /\/pages\//);
    for (const method of ["oauth", "page"]) {
      const refused = yield* nothing.call("login", { method });
      assert.match(
        refused.text,
        /this server does not know the URL at which browsers reach it/,
      );
      assert.match(refused.text, /start it with --public-url/);
    }
    const { assistant, call } = yield* useFakeWorld({
      ...options,
      can: "form",
      formPasswords: true,
    });
    assistant.answer = script({ action: "accept", content: { handle, password: appPassword } });
    assert.equal((yield* call("login")).isError, false);
    const strict = yield* useFakeWorld({ ...options, can: "form" });
    const refused = yield* strict.call("login");
    assert.match(
      refused.text,
      /does not allow passwords in forms, and browsers cannot reach it; call login/,
    );
    assert.match(refused.text, /--public-url/);
  });

  it("on a public server, reach no service in its own network, and no port", function* () {
    const { call, service } = yield* useFakeWorld({
      can: "nothing",
      principal,
      publicUrl: () => PUBLIC,
      headers: as("ann"),
    });
    for (
      const address of ["http://127.0.0.1:80", "https://localhost", "https://10.0.0.1", "intranet"]
    ) {
      const { text } = yield* call("login", { handle, password: "x", service: address });
      assert.match(text, /it is not a public address/, address);
    }
    assert.match((yield* call("login", { port: 4_000 })).text, /port 4000 would be on this server/);
    assert.deepEqual(service.asked, []);
  });

  it("open the configured port for the browser to come back to", function* () {
    const { call, accounts } = yield* useFakeWorld({ can: "nothing" });
    const free = yield* until(freePort());
    const { text } = yield* call("login", { port: free });
    const page = new RegExp(`http://127\\.0\\.0\\.1:${free}/pages/[^\\s/]+(?=\\n)`).exec(text)!;
    const done = yield* until(typeInto(page[0], { handle, password: appPassword }));
    assert.equal(done.status, 200, yield* until(done.text()));
    assert.equal((yield* until(accounts.list())).length, 1);
  });
});

async function freePort(): Promise<number> {
  const { createServer } = await import("node:net");
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
