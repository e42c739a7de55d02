import assert from "node:assert/strict";
import { ensure, type Operation, until } from "effection";
import { createMcpTool, createParley, type Parley } from "parley-mcp";
import { listen } from "../../src/platform/listen.ts";
import {
  type AuthorizationServer,
  useAuthorizationServer,
} from "../support/authorization-server.ts";
import { CLIENT_KINDS, connectSignedIn, DOCUMENTS, SignIn } from "../support/signed-in-clients.ts";
import { describe, it } from "../suite.ts";

const hello = createMcpTool("hello").description("Says hello.").execute(function* (_, ctx) {
  return `Hello ${ctx.principal.id}`;
});

interface Protected {
  readonly url: string;
  readonly issuer: AuthorizationServer;
  readonly parley: Parley;
}

function* useProtected(): Operation<Protected> {
  let url = "";
  const issuer = yield* useAuthorizationServer({ resources: () => [url], documents: DOCUMENTS });
  const parley = createParley({
    serve: [hello],
    publicUrl: () => new URL("/", url).href,
    auth: { issuers: [issuer.issuer], scopes: ["mcp"] },
  });
  const listening = yield* until(listen(parley.fetch, { port: 0, hostname: "127.0.0.1" }));
  yield* ensure(() => until(parley.close().then(() => listening.stop())));
  url = `http://127.0.0.1:${listening.port}/mcp`;
  return { url, issuer, parley };
}

describe("the official clients", () => {
  for (const kind of CLIENT_KINDS) {
    for (const registration of ["document", "dynamic"] as const) {
      it(`sign in from nothing but the 401: ${kind}, ${registration} registration`, function* () {
        const { url, issuer } = yield* useProtected();
        const signIn = new SignIn("alice", registration);
        const client = yield* until(connectSignedIn(kind, url, signIn));
        assert.equal(client.version, kind === "v2 modern" ? "2026-07-28" : "2025-11-25");
        assert.equal(
          yield* until(client.call("hello")),
          `Hello ${issuer.issuer}|user|alice`,
        );
        // The newer client also asks for a refresh token.
        assert.deepEqual(signIn.asked, [kind === "v1" ? "mcp" : "mcp offline_access"]);
        yield* until(client.close());
      });
    }
  }
});
