import assert from "node:assert/strict";
import { type Challenge, readChallenge } from "../../../src/client/oauth/challenge.ts";
import { describe, it } from "../../suite.ts";

const cases: readonly (readonly [string | undefined, Challenge | undefined])[] = [
  [undefined, {}],
  ["Bearer", {}],
  ["bearer SCOPE=mcp", { scope: "mcp" }],
  [
    'Bearer resource_metadata="https://a.example/x,y", scope="a b", error="invalid_token"',
    { resourceMetadata: "https://a.example/x,y", scope: "a b", error: "invalid_token" },
  ],
  [String.raw`Bearer realm="say \"hi\", Basic x", scope = "a"`, { scope: "a" }],
  ['Basic realm="x", Bearer scope="a", DPoP algs="ES256"', { scope: "a", dpop: "offered" }],
  [
    'DPoP error="use_dpop_nonce", resource_metadata="https://a.example/x"',
    { resourceMetadata: "https://a.example/x", error: "use_dpop_nonce", dpop: "required" },
  ],
  [
    'Bearer error="invalid_token", DPoP error="invalid_dpop_proof"',
    { error: "invalid_token", dpop: "offered" },
  ],
  [
    'Bearer error="invalid_token", DPoP error="use_dpop_nonce"',
    { error: "use_dpop_nonce", dpop: "offered" },
  ],
  ["Negotiate abc==, Bearer scope=a", { scope: "a" }],
  ['Basic realm="Bearer"', undefined],
  ["DPoP", { dpop: "required" }],
  ['Bearer scope=""', {}],
  ['Bearer scope="a', {}],
];

describe("readChallenge()", () => {
  for (const [text, expected] of cases) {
    it(`reads ${text ?? "nothing"}`, () => {
      const headers = new Headers(text === undefined ? {} : { "www-authenticate": text });
      assert.deepEqual(readChallenge(headers), expected);
    });
  }

  it("takes time in proportion to a header that is built to slow it down", () => {
    for (const part of ["a ", 'a="', "a=\\", ", ", "\t"]) {
      const text = `Bearer ${part.repeat(200_000)})`;
      readChallenge({ get: () => text } as unknown as Headers);
    }
  });
});
