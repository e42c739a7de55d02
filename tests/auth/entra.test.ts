/** Microsoft Entra: clients ask for scopes by their full names, and tokens contain the last part. */
import assert from "node:assert/strict";
import { describe, it } from "../suite.ts";
import { ISSUER, RESOURCE, TestIssuer } from "./issuer.ts";

describe("scopeHierarchy with tokens of Entra", () => {
  it("maps the last part of a scope to the full name that clients ask for", async () => {
    const issuer = await TestIssuer.create();
    const full = `${RESOURCE}/mcp`;
    const parley = issuer.server({
      issuers: [{ issuer: ISSUER, profile: "entra" }],
      audience: ["the-app-id"],
      scopes: [full],
      scopeHierarchy: { mcp: [full] },
    });
    const ask = (authorization?: string) =>
      parley.fetch(
        new Request(RESOURCE, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            ...(authorization && { authorization }),
          },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
        }),
      );
    const token = (scp: string) =>
      issuer.token({
        header: { typ: "JWT" },
        claims: { aud: "the-app-id", azp: "app", client_id: undefined, scope: undefined, scp },
      });
    const refused = await ask();
    assert.ok(refused.headers.get("www-authenticate")!.includes(`scope="${full}"`));
    assert.equal((await ask(`Bearer ${await token("other")}`)).status, 403);
    assert.notEqual((await ask(`Bearer ${await token("other mcp")}`)).status, 403);
    await parley.close();
  });
});
