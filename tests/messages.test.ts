import assert from "node:assert/strict";
import { listFiles, readText } from "./harness/files.ts";
import { messagesIn, thrownIn } from "./harness/messages.ts";
import { describe, it } from "./suite.ts";

const files = ["src", "tools"].flatMap((folder) => listFiles(folder, ".ts"));

/** What happened, to what, and what to do next. */
const GRAMMAR = /^Cannot .+: .+; .+/s;
/** A tool speaks to people and to models, in its own sentences; the next step may be one. */
const TOOLS_GRAMMAR = /^Cannot .+: .+(?:; |\. ).+/s;

/** Messages that are written differently, and why. */
const ELSEWHERE: { readonly [message: string]: string } = {
  "Cannot specify both schema and tools in sample config - they are mutually exclusive":
    "a sentence that authors know from elsewhere, word for word",
  'Cannot finish "…": …': "why it ended is a message of its own, with its next step",
  "Cannot serve at …:…: …": "whyNot() has a next step for each reason",
  "Cannot serve the request: …": "the guard says what to allow",
  'Cannot open the store "…": it could not be migrated from format … to …, and is unchanged: …':
    "the reason is that of another message, with its next step",
  "Cannot ask the model: …": "src/sampling/failure.ts has a next step for each failure",
  "Cannot …; …": "src/cli/usage.ts puts the state into the first part, for each mistake",
  "Cannot show the page: …": "the guard says what to allow",
  "Cannot use … as an account: …": "whyNot() has a next step for each reason",
  'Cannot request "…": …': "tools/bluesky/net/guarded-fetch.ts has a next step for each reason",
  "Cannot …: …": "tools/bluesky/explain-error.ts has a next step for each trouble",
  'Cannot … "…"': "the beginning of a sentence that src/vault ends for each fault",
  "Cannot show this value: …":
    "replaces a value in a log that cannot be converted to JSON; there is no next step",
};

/**
 * Composed of parts. Constructors add what to do next; a VaultError names its problem first, and
 * the message after it follows the grammar.
 */
const MADE_OF_PARTS =
  /^(?:BlockedRequest|Definition|Capability|Elicitation|Issuer|McpToolTimeout|Page|Vault|Schema)(?:Error|Problem)$/;

/** Errors that are thrown outside our grammar, each for a reason. */
const OTHERS: { readonly [text: string]: string } = {
  "halted": "caught by whoever halted it",
  "it does not contain a key": "becomes part of the sentence about the key's file",
  'there is no package "…" here; on Deno, import it as "npm:…"':
    "becomes part of the sentence about the module that cannot be loaded",
  "Stopped.": "the person stopped it, and knows",
  "It must be a list of form, app, page and model.": "ends the command line's own sentence",
  "It must be a number from 0 to 65535.": "ends the command line's own sentence about the flag",
  "It must be a URL such as https://example.com.": "ends the command line's own sentence",
  "Signing in with OAuth failed: …":
    "its cause is put into words by tools/bluesky/explain-error.ts",
  "It must be a number of seconds, up to 3600.":
    "ends the command line's own sentence about the flag",
  "It must be a name and a number, such as maxBody=1000000.":
    "ends the command line's own sentence about the flag",
  "It must be a number of days, up to 3650.": "ends the command line's own sentence about the flag",
  "It must be a number, 1 or more.": "ends the command line's own sentence about the flag",
  "It must be a number of megabytes, 1 or more.":
    "ends the command line's own sentence about the flag",
  "It must be an IP address or a range such as 10.0.0.0/8.":
    "ends the command line's own sentence about the flag",
};

describe("every message", () => {
  it("says what happened, to what, and what to do next", () => {
    const all = files.flatMap((file) =>
      messagesIn(readText(file)).map((message) => ({ file, message }))
    );
    assert.ok(all.length > 150, `only ${all.length} were found`);
    const wrong = all.filter(({ file, message }) =>
      !(file.startsWith("tools/") ? TOOLS_GRAMMAR : GRAMMAR).test(message) &&
      !(message in ELSEWHERE)
    );
    assert.deepEqual(wrong, []);
    const said = new Set(all.map(({ message }) => message));
    assert.deepEqual(Object.keys(ELSEWHERE).filter((message) => !said.has(message)), []);
  });

  it("of a thrown error begins with what cannot be done", () => {
    const all = files.flatMap((file) =>
      thrownIn(readText(file)).map((thrown) => ({ file, ...thrown }))
    );
    const wrong = all.filter(({ file, made, text }) =>
      !/^Cannot\b/.test(text) && !MADE_OF_PARTS.test(made) && !(text in OTHERS) &&
      // A tool speaks to the model in its own words.
      !(file.startsWith("tools/") && made === "ToolError")
    );
    assert.deepEqual(wrong, []);
    const said = new Set(all.map(({ text }) => text));
    assert.deepEqual(Object.keys(OTHERS).filter((text) => !said.has(text)), []);
  });

  it("ends without a full stop, is one line, and shows no code", () => {
    for (const file of files) {
      for (const message of messagesIn(readText(file))) {
        assert.doesNotMatch(message, /[^…]\.$|\n|\[object|undefined/, `${file}: ${message}`);
      }
    }
  });
});

describe("messagesIn() and thrownIn()", () => {
  it("leave expressions blank, whatever they contain, and join concatenated parts", () => {
    const source = [
      "throw new Problem(`Cannot ${a ? `b ${c}` : 'Cannot d'} it: ${e}; f`);",
      "const g = 'Cannot h: ' +\n  `i ${j}; ` + 'k';",
      "// Cannot be read",
      "const l = 'cannot';",
    ].join("\n");
    assert.deepEqual(messagesIn(source), ["Cannot … it: …; f", "Cannot d", "Cannot h: i …; k"]);
    assert.deepEqual(thrownIn(source), [{ made: "Problem", text: "Cannot … it: …; f" }]);
    assert.deepEqual(thrownIn("new Map(); new TypeError('a' + b); new Error(c)"), [
      { made: "TypeError", text: "a" },
    ]);
  });
});
