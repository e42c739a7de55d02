/** Where tokens go: only to the origin that the user named. */
import assert from "node:assert/strict";
import { type Operation, scoped } from "effection";
import { type Authorization, send } from "../../../src/client/http.ts";
import { describe, it } from "../../suite.ts";
import { useHttp } from "../../support/http-server.ts";

/** Somebody who is signed in, and would sign in again. */
class SignedIn implements Authorization {
  header = "Bearer secret-1";
  readonly asked: number[] = [];

  *proof() {
    return {};
  }

  *retry({ status }: { readonly status: number }, used: string | undefined): Operation<boolean> {
    this.asked.push(status);
    if (status !== 401 || used !== "Bearer secret-1") return false;
    this.header = "Bearer secret-2";
    return true;
  }
}

function* useRecorder(status: number, location = "") {
  const seen: (string | undefined)[] = [];
  const url = yield* useHttp((request, response) => {
    seen.push(request.headers.authorization);
    request.resume().on("end", () => response.writeHead(status, { location }).end());
  });
  return { url, seen };
}

describe("send() with a token", () => {
  it("sends it to the server, and the new one after a refusal", function* () {
    const server = yield* useRecorder(401);
    const authorization = new SignedIn();
    const endpoint = { url: server.url, headers: {}, authorization };
    const { status } = yield* scoped(() => send(endpoint, "POST", {}, {}));
    assert.equal(status, 401);
    assert.deepEqual(server.seen, ["Bearer secret-1", "Bearer secret-2"]);
    assert.deepEqual(authorization.asked, [401, 401]);
  });

  it("does not send it to another origin, and does not sign in for that", function* () {
    const other = yield* useRecorder(401);
    const server = yield* useRecorder(307, other.url);
    const authorization = new SignedIn();
    const endpoint = { url: server.url, headers: {}, authorization };
    for (const method of ["POST", "GET"] as const) {
      const reply = yield* scoped(() => send(endpoint, method, {}));
      assert.equal(reply.redirectedTo, other.url);
    }
    assert.deepEqual(server.seen, ["Bearer secret-1", "Bearer secret-1"]);
    assert.deepEqual(other.seen, [undefined, undefined]);
    assert.deepEqual(authorization.asked, []);
  });
});
