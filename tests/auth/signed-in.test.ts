/** Questions with `by: "signed-in"`: only the caller answers, on a page, after a sign-in there. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { writeFileSync } from "node:fs";
import {
  type AnsweredQuestion,
  createMcpTool,
  createParley,
  openStore,
  type ParleyOptions,
  type ToolSessionEvent,
} from "parley-mcp";
import { z } from "zod";
import { newToken } from "../../src/auth/token-file.ts";
import { connectHost, type Era, ERAS, type Host, textOf, ticketOf } from "../doors/host.ts";
import { linkIn, sendForm } from "../doors/page.ts";
import { absence } from "../harness/system.ts";
import { useBrowser } from "../support/browser.ts";
import { Browser } from "../support/cookie-browser.ts";
import { ORIGIN } from "../support/exchange.ts";
import { useFolder } from "../support/folder.ts";
import { living } from "../support/life.ts";
import { TestClient } from "../support/modern/client.ts";
import { connectSignedIn, SignIn } from "../support/signed-in-clients.ts";
import { describe, it } from "../suite.ts";
import { TestIssuer } from "./issuer.ts";
import { type Protected, useProtected } from "./protected.ts";

const HTML = { headers: { accept: "text/html" } };

const pay = createMcpTool("pay").description("Pays.").durable()
  .elicits({ sure: { response: z.object({ code: z.string() }), by: "signed-in" } })
  .execute(function* (_params, ctx) {
    const sure = yield* ctx.elicit("sure", { message: "Really pay?" });
    if (sure.action !== "accept") return sure.action;
    return `${sure.content.code} via ${sure.via} by ${ctx.principal.subject}`;
  });
/** The author trusts only pages, whoever answers there. */
const note = createMcpTool("note").description("Notes.")
  .elicits({ note: { response: z.object({ note: z.string() }), doors: ["page"] } })
  .execute(function* (_params, ctx) {
    return (yield* ctx.elicit("note", { message: "Note?" })).action;
  });

interface Asking extends Protected {
  /** Alice's client. */
  host(era: Era, capabilities?: object): Promise<Host>;
  readonly token: string;
}

function* useAsking(parley: ParleyOptions = {}): Operation<Asking> {
  const server = yield* useProtected({
    auth: () => ({ signIn: { clientId: "parley-pages" } }),
    parley: { serve: [pay, note], ...parley },
  });
  server.issuer.register({
    client_id: "parley-pages",
    redirect_uris: [new URL("/signed-in", server.url).href],
    grant_types: ["authorization_code"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    application_type: "native",
  });
  const { url } = server;
  const client = yield* until(
    connectSignedIn("v2 modern", url, new SignIn("alice", "document")),
  );
  const token = client.signIn.accessToken;
  yield* until(client.close());
  const headers = { authorization: `Bearer ${token}` };
  return {
    ...server,
    token,
    host: (era, capabilities = {}) => connectHost(era, fetch, { url, headers, capabilities }),
  };
}

/** What a browser shows at a link, after its person has signed in. */
async function visit(browser: Browser, link: string) {
  const { response } = await browser.visit(link, undefined, HTML);
  return { status: response!.status, html: await response!.text() };
}

/** Sends requests with the cookies of a browser. */
function withCookies(browser: Browser) {
  return (request: Request) => {
    request.headers.set("cookie", browser.cookiesFor(request.url));
    return fetch(request, { redirect: "manual" });
  };
}

const CLIENTS = {
  "declares nothing": {},
  "has forms": { elicitation: { form: {} } },
  "has apps": {
    extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
  },
};

for (const era of ERAS) {
  describe(`a question for the signed-in caller, in the ${era} era`, () => {
    for (const [what, capabilities] of Object.entries(CLIENTS)) {
      it(`is answered on a page after a sign-in, if the client ${what}`, function* () {
        const answers: AnsweredQuestion[] = [];
        const server = yield* useAsking({ onAnswer: (answer) => void answers.push(answer) });
        const host = yield* until(server.host(era, capabilities));
        const deferral = yield* until(host.call("pay"));
        assert.equal(deferral.structuredContent.questions[0].door, "page");
        const link = linkIn(textOf(deferral));
        const alice = new Browser({ as_user: "alice" });
        const { html } = yield* until(visit(alice, link));
        assert.match(html, /Really pay\?/);
        const sent = yield* until(sendForm(withCookies(alice), link, html, { code: "7" }));
        assert.match(sent.html, /Your answer was sent/);
        const result = yield* until(
          host.call("continue_call", { ticket: ticketOf(deferral) }),
        );
        assert.equal(textOf(result), "7 via page by alice");
        const [{ question, asked, via, by }] = answers as [AnsweredQuestion];
        const person = `${server.issuer.issuer}|user|alice`;
        assert.deepEqual([question, asked, via, by], ["sure", "person", "page", person]);
        assert.equal(answers.length, 1);
      });
    }

    it("goes by URL elicitation if the client declares it", function* () {
      const server = yield* useAsking();
      const alice = new Browser({ as_user: "alice" });
      const host = yield* until(
        connectHost(era, fetch, {
          url: server.url,
          headers: { authorization: `Bearer ${server.token}` },
          capabilities: { elicitation: { form: {}, url: {} } },
          async answer({ params }) {
            assert.equal(params.mode, "url");
            const { html } = await visit(alice, params.url);
            await sendForm(withCookies(alice), params.url, html, { code: "7" });
            return { action: "accept" };
          },
        }),
      );
      assert.equal(textOf(yield* until(host.call("pay"))), "7 via page by alice");
    });

    it("is not shown to another person, nor to a program with the caller's token", function* () {
      const server = yield* useAsking();
      const host = yield* until(server.host(era));
      const deferral = yield* until(host.call("pay"));
      const link = linkIn(textOf(deferral));
      const [alice, bob] = [
        new Browser({ as_user: "alice" }),
        new Browser({ as_user: "bob" }),
      ];
      const { html } = yield* until(visit(alice, link));
      const refused = yield* until(visit(bob, link));
      assert.equal(refused.status, 403);
      assert.ok(!refused.html.includes("Really pay?"));
      // Even with the form that Alice saw.
      const posted = yield* until(sendForm(withCookies(bob), link, html, { code: "6" }));
      assert.equal(posted.status, 403);
      const asProgram = (request: Request) => {
        request.headers.set("authorization", `Bearer ${server.token}`);
        return fetch(request, { redirect: "manual" });
      };
      const fetched = yield* until(asProgram(new Request(link)));
      assert.equal(fetched.status, 401);
      assert.ok(!(yield* until(fetched.text())).includes("Really pay?"));
      const forged = yield* until(sendForm(asProgram, link, html, { code: "5" }));
      assert.equal(forged.status, 401);
      // Nor does the model's answer count.
      const ticket = ticketOf(deferral);
      const byModel = yield* until(host.call("continue_call", { ticket, answer: { code: "4" } }));
      assert.equal(byModel.isError, true);
      yield* until(sendForm(withCookies(alice), link, html, { code: "7" }));
      const result = yield* until(host.call("continue_call", { ticket }));
      assert.equal(textOf(result), "7 via page by alice");
    });

    it("also opens the page of a question that allows only pages", function* () {
      const server = yield* useAsking();
      const host = yield* until(server.host(era));
      const deferral = yield* until(host.call("note"));
      const link = linkIn(textOf(deferral));
      const { html } = yield* until(visit(new Browser({ as_user: "alice" }), link));
      assert.match(html, /Note\?/);
      yield* until(host.call("continue_call", { ticket: ticketOf(deferral), cancel: true }));
    });
  });

  describe(`a question for the signed-in caller that nobody can answer, in the ${era} era`, () => {
    const failing = async (options: ParleyOptions, headers: Record<string, string>) => {
      const parley = createParley({ serve: [pay], publicUrl: ORIGIN, ...options });
      try {
        const host = await connectHost(era, parley.fetch, {
          headers,
          capabilities: CLIENTS["has forms"],
        });
        const result = await host.call("pay");
        assert.equal(result.isError, true, JSON.stringify(result));
        assert.match(textOf(result), /cannot sign in on a page.*--auth-client-id/);
      } finally {
        await parley.close();
      }
    };

    it("fails if the server does not name its callers", () => failing({}, {}));

    it("fails if the server names its callers, but cannot sign them in", () =>
      failing({ principal: () => "alice" }, {}));

    it("fails if people cannot sign in on pages", async () => {
      const issuer = await TestIssuer.create();
      const auth = { issuers: ["https://issuer.example"], fetch: issuer.fetch as typeof fetch };
      const publicUrl = "http://127.0.0.1:7411";
      await failing(
        { auth, publicUrl, clock: issuer.clock },
        { authorization: `Bearer ${await issuer.token()}` },
      );
    });

    it("fails for programs, which cannot sign in", function* () {
      const { token, line } = newToken("nightly", []);
      const tokenFile = `${yield* useFolder()}/tokens`;
      writeFileSync(tokenFile, line);
      const issuer = yield* until(TestIssuer.create());
      const auth = {
        issuers: ["https://issuer.example"],
        fetch: issuer.fetch as typeof fetch,
        signIn: { clientId: "parley-pages" },
        tokenFile,
      };
      const publicUrl = "http://127.0.0.1:7411";
      const options = { auth, publicUrl, clock: issuer.clock };
      yield* until(failing(options, { authorization: `Bearer ${token}` }));
      const machine = yield* until(issuer.token({ claims: { sub: "m", client_id: "m" } }));
      yield* until(failing(options, { authorization: `Bearer ${machine}` }));
    });

    it("leaves other questions without a page, because no browser could open it", async () => {
      const issuer = await TestIssuer.create();
      const auth = { issuers: ["https://issuer.example"], fetch: issuer.fetch as typeof fetch };
      const ask = createMcpTool("ask").description("Asks.")
        .elicits({
          any: { response: z.object({ code: z.string() }) },
          own: { response: z.object({ code: z.string() }), by: "person" },
        })
        .execute(function* (_params, ctx) {
          yield* ctx.elicit("any", { message: "Any?" });
          return (yield* ctx.elicit("own", { message: "Own?" })).action;
        });
      const publicUrl = "http://127.0.0.1:7411";
      const parley = createParley({ serve: [ask], auth, publicUrl, clock: issuer.clock });
      const headers = { authorization: `Bearer ${await issuer.token()}` };
      const host = await connectHost(era, parley.fetch, { headers });
      const deferral = await host.call("ask");
      assert.equal(deferral.structuredContent.questions[0].door, "model");
      const ticket = ticketOf(deferral);
      const last = await host.call("continue_call", { ticket, answer: { code: "1" } });
      assert.equal(last.isError, true);
      assert.match(textOf(last), /--auth-client-id/);
      await parley.close();
    });

    it("says so if the tool requires that it can be asked", async () => {
      const strict = createMcpTool("strict").description("d")
        .elicits({ sure: { response: z.object({ code: z.string() }), by: "signed-in" } })
        .requires({ elicitation: true })
        .execute(function* () {
          return "not reached";
        });
      const parley = createParley({ serve: [strict], publicUrl: ORIGIN });
      const host = await connectHost(era, parley.fetch, { capabilities: CLIENTS["has forms"] });
      const { result, error } = await host.request("tools/call", { name: "strict" });
      assert.match(error?.message ?? textOf(result), /--auth-client-id/);
      await parley.close();
    });

    it("stays unanswered if the server no longer signs people in after a restart", async () => {
      const issuer = await TestIssuer.create();
      const common = { issuers: ["https://issuer.example"], fetch: issuer.fetch as typeof fetch };
      const auth = { ...common, signIn: { clientId: "parley-pages" } };
      const publicUrl = "http://127.0.0.1:7411";
      const options = { serve: [pay], publicUrl, clock: issuer.clock };
      await living(options, async (life) => {
        await life.start({ auth });
        const headers = { authorization: `Bearer ${await issuer.token()}` };
        const browse = (request: Request) => {
          request.headers.set("authorization", headers.authorization);
          return life.parley.fetch(request);
        };
        const host = () => connectHost(era, browse, { headers, url: `${publicUrl}/mcp` });
        const deferral = await (await host()).call("pay");
        const link = linkIn(textOf(deferral));
        await life.start({ auth: common });
        const shown = await browse(new Request(link));
        assert.doesNotMatch(await shown.text(), /Really pay\?/);
        await (await host()).call("continue_call", { ticket: ticketOf(deferral), cancel: true });
      });
    });
  });
}

describe("a question for the signed-in caller, in the modern era, over HTTP", () => {
  it("takes no answer that the client sends with the call", function* () {
    const server = yield* useAsking();
    const client = new TestClient(fetch, {
      url: server.url,
      headers: { authorization: `Bearer ${server.token}` },
      capabilities: CLIENTS["has forms"],
    });
    const inputResponses = { sure: { action: "accept", content: { code: "7" } } };
    const result = yield* until(client.call("pay", {}, { inputResponses }));
    assert.equal(result.structuredContent.questions[0].door, "page");
  });
});

describe("the record of an answer", () => {
  it("names the person who signed in to give it", function* () {
    const events: ToolSessionEvent[] = [];
    const { sessions, close } = yield* until(
      openStore(`sqlite:${yield* useFolder()}/calls.db`),
    );
    const append = sessions.append.bind(sessions);
    sessions.append = (id, added, ...others) => {
      events.push(...added);
      return append(id, added, ...others);
    };
    const server = yield* useAsking({ store: sessions });
    const host = yield* until(server.host("modern"));
    const link = linkIn(textOf(yield* until(host.call("pay"))));
    const alice = new Browser({ as_user: "alice" });
    const { html } = yield* until(visit(alice, link));
    yield* until(sendForm(withCookies(alice), link, html, { code: "7" }));
    const answer = events.find((event) => event.type === "answer")!;
    assert.equal(answer.via, "page");
    assert.equal(answer.by, `${server.issuer.issuer}|user|alice`);
    yield* until(server.parley.close());
    close();
  });
});

describe("Chromium", () => {
  const inBrowser = it.unless(absence("browser"));
  inBrowser("signs the caller in, and shows the question to nobody else", function* () {
    const server = yield* useAsking();
    const host = yield* until(server.host("modern"));
    const deferral = yield* until(host.call("pay"));
    const link = linkIn(textOf(deferral));
    const as = (value: string) => ({ name: "as_user", value, domain: "127.0.0.1", path: "/" });
    const browser = yield* useBrowser();
    const page = yield* until(browser.newPage());
    yield* until(browser.addCookies([as("bob")]));
    yield* until(page.goto(link));
    assert.doesNotMatch(yield* until(page.content()), /Really pay/);
    yield* until(browser.clearCookies());
    yield* until(browser.addCookies([as("alice")]));
    yield* until(page.goto(link));
    yield* until(page.getByRole("textbox").fill("7"));
    yield* until(page.getByRole("button", { name: "Accept" }).click());
    yield* until(page.getByText("You can close this tab").waitFor());
    const result = yield* until(host.call("continue_call", { ticket: ticketOf(deferral) }));
    assert.equal(textOf(result), "7 via page by alice");
  }, { within: 90_000 });

  inBrowser("keeps what was entered if the session ends, and says how to go on", function* () {
    const server = yield* useAsking();
    const host = yield* until(server.host("modern"));
    const deferral = yield* until(host.call("pay"));
    const browser = yield* useBrowser();
    const page = yield* until(browser.newPage());
    let isSignedOut = true;
    yield* until(
      page.route(
        "**/changed?*",
        (route) =>
          isSignedOut
            ? route.fulfill({ status: 401, body: "" })
            : route.fulfill({ json: { changed: false } }),
      ),
    );
    yield* until(page.goto(linkIn(textOf(deferral))));
    yield* until(page.getByRole("textbox").fill("7"));
    const again = page.getByRole("link", { name: "Sign in again" });
    yield* until(again.waitFor());
    assert.equal(yield* until(again.getAttribute("target")), "_blank");
    isSignedOut = false;
    yield* until(again.waitFor({ state: "detached" }));
    yield* until(page.getByRole("button", { name: "Accept" }).click());
    yield* until(page.getByText("You can close this tab").waitFor());
    const result = yield* until(host.call("continue_call", { ticket: ticketOf(deferral) }));
    assert.equal(textOf(result), "7 via page by alice");
  }, { within: 90_000 });
});
