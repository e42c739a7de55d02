/** The same in the compiled program, which contains its libraries. */
import assert from "node:assert/strict";
import { until } from "effection";
import { useBlueskyNetwork } from "../../bluesky-net/network.ts";
import { absence } from "../../harness/system.ts";
import { currentRuntime } from "../../harness/toolchain.ts";
import { describe, it } from "../../suite.ts";
import { builtExecutable } from "../../support/built.ts";
import { useFolder } from "../../support/folder.ts";
import { useAssistant } from "./assistant.ts";
import { useProgramOnStdio } from "./servers.ts";

const onNetwork = it.unless(absence("bluesky"));

if (currentRuntime() !== "bun") {
  it.skip("Bluesky in the executable (SKIPPED on Deno: the suite on Bun tests the same file)");
} else {
  describe("Bluesky in the executable", () => {
    onNetwork("signs in, searches, and sends the browser to the service for OAuth", function* () {
      const network = yield* useBlueskyNetwork();
      const person = yield* until(network.createAccount());
      const folder = yield* useFolder();
      const { address } = yield* useProgramOnStdio(network, folder, builtExecutable(), []);
      const assistant = yield* useAssistant(address, "legacy", "nothing");
      const call = (name: string, args: object) => until(assistant.call(name, args));
      const { handle, appPassword: password } = person;
      const signedIn = yield* call("login", { handle, password });
      assert.equal(signedIn.data?.signedIn, person.did, signedIn.text);
      const found = yield* call("search", { query: "xylophone-4711" });
      assert.equal(found.data?.posts.length, 1, found.text);
      const { text } = yield* call("login", { method: "oauth", handle });
      const [link] = /http:\S+\/oauth/.exec(text)!;
      const response = yield* until(fetch(link, { redirect: "manual" }));
      assert.equal(response.status, 302, yield* until(response.text()));
      const target = new URL(response.headers.get("location")!);
      assert.equal(target.origin, network.pds);
      assert.match(target.searchParams.get("request_uri")!, /^urn:/);
    }, { within: 180_000 });
  });
}
