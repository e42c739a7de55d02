/**
 * The five rules for messages about passwords, on every message of `login`: for each
 * kind of client, method and answer, on each transport and in the terminal.
 *
 * 1  Never ask for the main password.
 * 2  Say where app passwords are made.
 * 3  Recommend OAuth.
 * 4  Use words that everybody understands.
 * 5  Tell a person who declines how to sign in with OAuth.
 */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { callHere } from "../../../src/cli/commands/call-here.ts";
import { createBlueskyTools } from "../../../tools/bluesky.ts";
import { defaultSetup } from "../../../tools/bluesky/setup.ts";
import { describe, it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";
import { type Answer, CLIENTS, type Question, type Result, useAssistant } from "./assistant.ts";
import { PERSON } from "./fake-service.ts";
import { typeInto } from "./fake-world.ts";
import { MemoryVault } from "../../support/memory-vault.ts";
import { type TestHost, useHost } from "./net/servers.ts";
import { WAYS } from "./servers.ts";

const { handle, did, appPassword } = PERSON;
const MAIN = /Never use the main password of your Bluesky account/;
const APP_PASSWORDS = /https:\/\/bsky\.app\/settings\/app-passwords/;
const OAUTH = /OAuth is the better way: you sign in at Bluesky itself/;
const HOW = {
  assistant: /To start it, say "sign in to Bluesky with OAuth"/,
  terminal: /To start it, run: parley call login '\{"method": "oauth"\}'/,
};
const JARGON =
  /\b(?:MCP|elicit\w*|capabilit\w+|JSON|schema|DPoP|PKCE|PAR|tokens?|endpoints?|credentials?)\b/i;

const METHODS = {
  "no method": {},
  "no method, with a handle": { handle },
  "method oauth": { method: "oauth" },
  "method page": { method: "page" },
  "method app-password": { method: "app-password" },
  "method app-password, with a handle": { method: "app-password", handle },
  "a password without a handle": { password: "wrong" },
  "a wrong password": { handle, password: "wrong" },
  "an empty password": { handle, password: "" },
  "a password with method oauth": { handle, password: "wrong", method: "oauth" },
} as const;
type Method = keyof typeof METHODS;

/** What a person does: takes the last method of a form, a wrong password, then a right one. */
const ACTIONS = ["accept", "decline", "cancel"] as const;
type Action = typeof ACTIONS[number];

/** Everything that a person, or the model for them, sees in one call. */
interface Shown {
  readonly questions: string[];
  readonly pages: string[];
  /** The page after the sign-in. */
  done?: string;
  result?: Result;
}

function useService(): Operation<TestHost> {
  return (function* () {
    const host = yield* useHost();
    host.answer = ({ body }, response) => {
      const right = body.includes(appPassword);
      const access = btoa(JSON.stringify({ scope: "com.atproto.appPass" }));
      const session = {
        ...{ did, handle, active: true, didDoc: {} },
        ...{ accessJwt: `eyJ.${access}.x`, refreshJwt: "eyJ.e30.y" },
      };
      const refusal = { error: "AuthenticationRequired", message: "Invalid password" };
      response.writeHead(right ? 200 : 401, { "content-type": "application/json" })
        .end(JSON.stringify(right ? session : refusal));
    };
    return host;
  })();
}

/** Answers as the action says, and records what was shown. */
function answering(shown: Shown, action: Action) {
  return async ({ mode, message, url, requestedSchema }: Question): Promise<Answer> => {
    shown.questions.push(message);
    if (mode === "url" && !url!.endsWith("/oauth")) shown.pages.push(await read(fetch(url!)));
    if (action !== "accept") return { action };
    if (mode === "url") {
      // OAuth itself is tested on a real network; here the person gives up.
      if (url!.endsWith("/oauth")) return { action: "cancel" };
      for (const password of ["wrong", appPassword]) {
        const page = await read(typeInto(url!, { handle, password }));
        if (password === "wrong") shown.pages.push(page);
        else shown.done = page;
      }
      return { action };
    }
    const content: { [field: string]: string } = {};
    for (const [field, schema] of Object.entries(requestedSchema!.properties)) {
      const { oneOf, enum: values } = schema as { oneOf?: { const: string }[]; enum?: string[] };
      const offered = oneOf?.map((one) => one.const) ?? values;
      content[field] = offered?.at(-1) ?? (field === "password" ? "wrong" : handle);
    }
    return { action, content };
  };
}

async function read(response: Promise<Response>): Promise<string> {
  return (await (await response).text()).replaceAll(/<style>.*?<\/style>|<[^>]*>|\s+/gs, " ")
    .replaceAll("&#34;", '"');
}

/** Asserts the rules; `about` says where in the table it was. */
function check(shown: Shown, audience: keyof typeof HOW, about: string): void {
  const { result, questions, pages } = shown;
  const signedIn = result!.data?.signedIn !== undefined;
  const messages = [...questions, ...pages, ...(signedIn ? [] : [result!.text])];
  for (const text of messages) {
    const where = `${about}: ${text}`;
    assert.match(text, OAUTH, `OAuth is not recommended: ${where}`);
    assert.doesNotMatch(text, JARGON, `jargon: ${where}`);
    // A text that OAuth needs no password does not count as one about passwords.
    if (/password/i.test(text.replace("no password is handed over", ""))) {
      assert.match(text, MAIN, `no warning of the main password: ${where}`);
      assert.match(text, APP_PASSWORDS, `no link to app passwords: ${where}`);
    }
  }
  if (audience === "terminal") {
    for (const text of [...questions, ...pages, shown.done ?? "", result!.text]) {
      assert.doesNotMatch(text, /assistant/i, about);
    }
  }
  // The structured data says the same as the text.
  if (!result!.isError) assert.equal(result!.data.message, result!.text, about);
}

function checkRefused({ result }: Shown, audience: keyof typeof HOW, about: string): void {
  assert.equal(result!.isError, true, about);
  assert.match(result!.text, /nothing was stored/, about);
  assert.match(result!.text, OAUTH, about);
  assert.match(result!.text, HOW[audience], about);
}

/** Whether a call asks a client anything at all. */
function asks(can: keyof typeof CLIENTS, method: Method): boolean {
  if (/^a wrong|^an empty|with method/.test(method)) return false;
  if (method === "a password without a handle") return can === "url" || can === "form";
  return can !== "nothing";
}

for (const way of WAYS) {
  for (const formPasswords of [false, true]) {
    describe(`login over ${way.name}${formPasswords ? ", with passwords in forms" : ""}`, () => {
      for (const can of Object.keys(CLIENTS) as (keyof typeof CLIENTS)[]) {
        it(`follows the rules for a client that can do: ${can}`, function* () {
          const service = yield* useService();
          const pds = `http://127.0.0.1:${service.port}`;
          const services = { pds, plc: pds };
          const served = yield* way.use(services, yield* useFolder(), { formPasswords });
          const assistant = yield* useAssistant(served.address, way.era, can);
          for (const method of Object.keys(METHODS) as Method[]) {
            for (const action of asks(can, method) ? ACTIONS : ["accept"] as const) {
              const about = `${can}, ${method}, ${action}`;
              if (can === "form" && action !== "accept") {
                // After two refusals this fast in a row, the client would count as one without forms.
                assistant.answer = answering({ questions: [], pages: [] }, "accept");
                yield* until(assistant.call("login"));
              }
              const shown: Shown = { questions: [], pages: [] };
              assistant.answer = answering(shown, action);
              shown.result = yield* until(assistant.call("login", METHODS[method]));
              check(shown, "assistant", about);
              if (shown.questions.length > 0 && action !== "accept") {
                checkRefused(shown, "assistant", about);
              }
              if (!asks(can, method)) assert.deepEqual(shown.questions, [], about);
              const cannotAsk = can === "nothing" && !/wrong|empty|with method/.test(method) ||
                can === "pages" && method === "a password without a handle";
              if (cannotAsk) {
                assert.equal(shown.result.isError, true, about);
                assert.match(shown.result.text, /\bTest Assistant cannot show questions/, about);
              }
              if (!formPasswords) {
                const fields = assistant.asked.flatMap(({ requestedSchema }) =>
                  Object.keys(requestedSchema?.properties ?? {})
                );
                assert.ok(!fields.includes("password"), `a form asks for a password: ${about}`);
              }
            }
          }
        });
      }
    });
  }
}

describe("login in a terminal", () => {
  for (const method of Object.keys(METHODS) as Method[]) {
    it(`follows the rules: ${method}`, function* () {
      const service = yield* useService();
      const pds = `http://127.0.0.1:${service.port}`;
      for (const action of ACTIONS) {
        const vault = new MemoryVault();
        const { login } = createBlueskyTools({
          ...defaultSetup({}),
          service: pds,
          plc: pds,
          vault: () => Promise.resolve(vault),
        });
        const shown: Shown = { questions: [], pages: [] };
        const answer = answering(shown, action);
        const result = yield* callHere(login, METHODS[method], {
          *answer(question) {
            assert.ok(question.type === "form" || question.type === "page");
            const mode = question.type === "form" ? "form" : "url";
            const given = yield* until(answer({ ...question.params, mode } as Question));
            return given as { action: Action };
          },
          progress() {},
          log() {},
          done() {},
        });
        const text = result.content.map((block) => block.type === "text" ? block.text : "").join();
        const { structuredContent: data, isError = false } = result;
        shown.result = { text, data, isError };
        const about = `terminal, ${method}, ${action}`;
        check(shown, "terminal", about);
        if (shown.questions.length > 0 && action !== "accept") {
          checkRefused(shown, "terminal", about);
        }
      }
    });
  }
});
