/** The texts about passwords, sentence by sentence, wherever one is asked for or missing. */
import assert from "node:assert/strict";
import { until } from "effection";
import { join } from "node:path";
import { login } from "../../../tools/bluesky.ts";
import {
  ABOUT_PASSWORDS,
  MAKE_ONE,
  NEVER_MAIN,
  OAUTH_HOW,
  OAUTH_IS_BETTER,
} from "../../../tools/bluesky/password-texts.ts";
import { readText, root } from "../../harness/files.ts";
import { describe, it } from "../../suite.ts";
import { useFolder } from "../../support/folder.ts";
import { exitCode, hasTerminal, KEYS, useTerminal } from "../../support/pty.ts";
import type { CLIENTS } from "./assistant.ts";
import { PERSON } from "./fake-service.ts";
import { script, useFakeWorld } from "./fake-world.ts";

const { handle } = PERSON;

const inTerminal = it.unless(
  hasTerminal ? undefined : 'no pseudo-terminal: install util-linux, which has "script"',
);

/** Each sentence by its meaning, not by our wording. */
const sentences: [string, RegExp][] = [
  ["never the main password", /\bNever use the main password of your Bluesky account\b/],
  ["make an app password", /\bCreate an app password instead\b/],
  ["and where", /https:\/\/bsky\.app\/settings\/app-passwords/],
  ["OAuth is better", /\bOAuth is the better way\b/],
];
const started: [string, RegExp] = [
  "how OAuth starts",
  /\bTo start it, say .*login with method "oauth"/,
];

const atTerminal: [string, RegExp] = [
  "how OAuth starts in a terminal",
  /To start it, run: parley call login '\{"method": "oauth"\}'/,
];

function says(text: string, ...expected: [string, RegExp][]): void {
  for (const [what, pattern] of expected) assert.match(text, pattern, `${what}: ${text}`);
}

describe("the texts about passwords", () => {
  it("say everything, in simple sentences", () => {
    says(ABOUT_PASSWORDS, ...sentences, started);
    for (const jargon of [/DPoP|PKCE|PAR\b|token|elicit|JSON|scope|endpoint|credential/i]) {
      assert.doesNotMatch(ABOUT_PASSWORDS, jargon);
    }
    for (const sentence of [NEVER_MAIN, MAKE_ONE, OAUTH_IS_BETTER, OAUTH_HOW]) {
      assert.ok(sentence.split(" ").length <= 30, sentence);
      assert.match(sentence, /^[A-Z].*\.$/);
    }
  });

  it("appear at the parameter", () => {
    const { password } = login.parameters.json["properties"] as {
      password: { description: string };
    };
    says(password.description, ...sentences, started);
  });

  it("appear in the docs", () => {
    const text = readText("tools/bluesky/README.md").replaceAll(/\s+/g, " ");
    for (const sentence of [NEVER_MAIN, MAKE_ONE, OAUTH_IS_BETTER]) {
      assert.ok(text.includes(sentence), sentence);
    }
  });

  const asked: [string, keyof typeof CLIENTS, object, object[]][] = [
    ["a form for a password", "form", { handle, method: "app-password" }, []],
    ["a form for handle and password", "form", { method: "app-password" }, []],
    ["the page", "url", { method: "page" }, []],
  ];
  for (const [what, can, args] of asked) {
    it(`appear in ${what}`, function* () {
      const { assistant, call } = yield* useFakeWorld({ can, formPasswords: true });
      assistant.answer = script({ action: "decline" });
      const { text } = yield* call("login", args);
      says(assistant.asked.at(-1)!.message, ...sentences, started);
      says(text, sentences[3]!, started);
    });
  }

  it("appear in the choice, which recommends OAuth", function* () {
    const { assistant, call } = yield* useFakeWorld({ can: "form" });
    assistant.answer = script({ action: "cancel" });
    yield* call("login");
    const [question] = assistant.asked;
    says(question!.message, ...sentences);
    assert.match(
      JSON.stringify(question!.requestedSchema),
      /OAuth, in your browser \(recommended\)/,
    );
  });

  it("appear before the browser opens, with both ways", function* () {
    const { assistant, call } = yield* useFakeWorld({ can: "url" });
    assistant.answer = script({ action: "cancel" });
    yield* call("login");
    const { message } = assistant.asked[0]!;
    says(message, ...sentences);
    assert.match(message, /neither this app nor the model sees it/);
  });

  it("appear on the page itself", function* () {
    const { assistant, call } = yield* useFakeWorld({ can: "url" });
    let page = Promise.resolve("");
    assistant.answer = script(async ({ url }) => {
      page = fetch(url!).then((response) => response.text());
      await page;
      return { action: "decline" };
    });
    yield* call("login");
    const text = (yield* until(page)).replaceAll(/<[^>]*>|\s+/g, " ");
    says(text, ...sentences);
    assert.match(text, /If you did not ask your assistant to sign you in, close this page/);
  });

  it("appear in the error for a client that cannot ask, which it names, with both ways out", function* () {
    const { call } = yield* useFakeWorld({ can: "nothing" });
    const { text, isError } = yield* call("login");
    assert.equal(isError, true);
    says(text, ...sentences);
    assert.match(
      text,
      /^Cannot ask you to sign in to Bluesky: Test Assistant cannot show questions/,
    );
    assert.match(text, /Sign in with OAuth \(recommended\): open this link in your browser: http/);
    assert.match(text, /share an app password: call login with "handle" and "password"/);
  });

  it("appear in the warning about a main password", function* () {
    const { call } = yield* useFakeWorld({ can: "nothing" });
    const { data } = yield* call("login", { handle, password: PERSON.mainPassword });
    says(data.warning, ...sentences);
  });

  inTerminal("appear in the terminal, which does not show the password", function* () {
    const folder = yield* useFolder();
    const tools = join(root, "tools/bluesky.ts");
    const args = JSON.stringify({ handle, method: "app-password" });
    const env = { XDG_CONFIG_HOME: folder, PARLEY_KEYRING: "off" };
    const terminal = yield* useTerminal(["call", "login", args, tools], { env });
    yield* until(terminal.shows(/App password/));
    // Lines are wrapped to fit, with a bar in front.
    says(terminal.shown.replaceAll(/[\s│]+/g, " "), ...sentences, atTerminal);
    terminal.type(`topsecret${KEYS.escape}`);
    yield* until(terminal.shows(/Leave the question\?/));
    assert.doesNotMatch(terminal.shown, /topsecret/);
    terminal.type(`${KEYS.down}${KEYS.enter}`);
    yield* until(terminal.shows(/you declined/));
    assert.equal(yield* exitCode(terminal), 1);
    says(terminal.shown.replaceAll(/\s+/g, " "), sentences[3]!, atTerminal);
    assert.doesNotMatch(terminal.shown, /assistant/);
  });
});
