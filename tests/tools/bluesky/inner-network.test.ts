/** Nothing that a service sends leads into this machine's network, or passes a password on. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { defaultSetup } from "../../../tools/bluesky/setup.ts";
import { describe, it } from "../../suite.ts";
import { PERSON, PROFILE } from "./fake-service.ts";
import { useFakeWorld } from "./fake-world.ts";
import { useHost } from "./net/servers.ts";

const { handle, did, appPassword: password } = PERSON;
const NETWORK = { network: defaultSetup({}).network };

/** A service that the operator has named, and a host beside it that nobody has named. */
function* useService() {
  const [service, inner] = [yield* useHost(), yield* useHost()];
  inner.answer = (_, response) => json(response, { ...PROFILE, displayName: "INNER SECRET" });
  const url = `http://127.0.0.1:${service.port}`;
  const setup = { ...NETWORK, service: url };
  const { call, vault } = yield* useFakeWorld({ can: "nothing", setup });
  return { service, inner, url, call, vault };
}

function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function session(endpoint?: string) {
  const service = { id: "#atproto_pds", type: "AtprotoPersonalDataServer" };
  return {
    did,
    handle,
    active: true,
    accessJwt: `eyJ.${btoa(JSON.stringify({ scope: "com.atproto.appPass" }))}.x`,
    refreshJwt: "eyJ.e30.y",
    didDoc: endpoint
      ? { id: did, service: [{ ...service, serviceEndpoint: endpoint }] }
      : { id: did },
  };
}

describe("a service that redirects elsewhere", () => {
  for (const status of [301, 302, 303, 307, 308]) {
    it(`does not get a password passed on with a ${status}`, function* () {
      const { service, inner, call } = yield* useService();
      service.answer = (_, response) =>
        void response.writeHead(status, { location: `http://127.0.0.1:${inner.port}/steal` }).end();
      const { isError, text } = yield* call("login", { handle, password });
      assert.equal(isError, true);
      assert.match(text, /^Cannot sign in as "alice\.test": 127\.0\.0\.1:\d+ redirects .+; .+/);
      assert.doesNotMatch(text, new RegExp(`${password}|${inner.port}`));
      assert.deepEqual([service.seen.length, inner.connections], [1, 0]);
    });
  }

  it("reveals nothing of what an internal address returns", function* () {
    const { service, inner, call } = yield* useService();
    service.answer = ({ path }, response) => {
      if (path.endsWith("createSession")) return json(response, session());
      response.writeHead(302, { location: `http://127.0.0.1:${inner.port}/` }).end();
    };
    assert.equal((yield* call("login", { handle, password })).isError, false);
    const { isError, text } = yield* call("profile");
    assert.equal(isError, true);
    assert.match(text, /redirects/);
    assert.doesNotMatch(text, /INNER SECRET/);
    assert.equal(inner.connections, 0);
  });

  for (
    const [what, endpoint, problem] of [
      ["an address of this machine", (port: number) => `http://127.0.0.1:${port}`, /not encrypted/],
      ["https", (port: number) => `https://127.0.0.1:${port}`, /not .* the public internet/],
      ["a name", (port: number) => `https://foo.localhost:${port}`, /not .* the public internet/],
    ] as const
  ) {
    it(`is not followed through its DID document: ${what}`, function* () {
      const { service, inner, call } = yield* useService();
      service.answer = (_, response) => json(response, session(endpoint(inner.port)));
      assert.equal((yield* call("login", { handle, password })).isError, false);
      const { isError, text } = yield* call("profile");
      assert.equal(isError, true);
      assert.match(text, problem);
      assert.doesNotMatch(text, /INNER SECRET/);
      assert.equal(inner.connections, 0);
    });
  }

  it("may be on this machine if the operator names it, and so may its DID document", function* () {
    const { service, url, call } = yield* useService();
    service.answer = ({ path }, response) =>
      json(response, path.endsWith("createSession") ? session(url) : PROFILE);
    assert.equal((yield* call("login", { handle, password })).isError, false);
    assert.equal((yield* call("profile")).data.displayName, PROFILE.displayName);
  });

  it("may be on this machine if the person at this machine names it", function* () {
    const { service, call } = yield* useService();
    const other = yield* useHost();
    const url = `http://localhost:${other.port}`;
    other.answer = ({ path }, response) =>
      json(response, path.endsWith("createSession") ? session(url) : PROFILE);
    const signedIn = yield* call("login", { handle, password, service: url });
    assert.equal(signedIn.isError, false, signedIn.text);
    assert.equal((yield* call("profile")).data.displayName, PROFILE.displayName);
    const { isError, data } = yield* call("login", { command: "delete", handle });
    assert.deepEqual([isError, data.warning], [false, undefined]);
    assert.equal(other.seen.length, 3);
    assert.equal(service.connections, 0);
  });

  it("is refused if its name resolves to an address that is not public", function* () {
    const { inner, vault } = yield* useService();
    const resolve = () => Promise.resolve(["::ffff:127.0.0.1"]);
    const network = { ...NETWORK.network, resolve };
    const { call } = yield* useFakeWorld({ can: "nothing", setup: { network } });
    const service = `https://pds.example:${inner.port}`;
    const { isError, text } = yield* call("login", { handle, password, service });
    assert.equal(isError, true);
    assert.match(text, /pds\.example:\d+ is not on the public internet; check the address/);
    assert.doesNotMatch(text, /127\.0/);
    assert.deepEqual([inner.connections, vault.documents.size], [0, 0]);
  });

  it("is refused by its name, however it is written", function* () {
    const { inner, call } = yield* useService();
    for (
      const host of ["localhost.", "foo.localhost", "foo.localhost.", "intranet.", "nas.local"]
    ) {
      const service = `https://${host}:${inner.port}`;
      const { isError, text } = yield* call("login", { handle, password, service });
      assert.equal(isError, true);
      assert.match(text, /it is not a public address/, host);
    }
    assert.equal(inner.connections, 0);
  });
});
