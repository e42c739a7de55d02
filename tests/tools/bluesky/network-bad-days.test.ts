/** Failures on the real network, whose own messages are explained. */
import assert from "node:assert/strict";
import { until } from "effection";
import { absence } from "../../harness/system.ts";
import { currentRuntime } from "../../harness/toolchain.ts";
import { describe, it } from "../../suite.ts";
import { WAYS } from "./servers.ts";
import { useWorld } from "./world.ts";

const onNetwork = it.unless(absence("bluesky"));
const LONG = { within: 120_000 };

describe("on the network", () => {
  onNetwork("main passwords are distinguished from app passwords of both kinds", function* () {
    const { assistant, person } = yield* useWorld(WAYS[1]!, "nothing");
    const { handle, password, appPassword, privilegedAppPassword } = person;
    for (
      const [given, isMain] of [
        [appPassword, false],
        [privilegedAppPassword, false],
        [password, true],
      ] as const
    ) {
      const { data, text } = yield* until(assistant.call("login", { handle, password: given }));
      assert.equal(data?.accounts[0].mainPassword, isMain, text);
      assert.equal(data.warning !== undefined, isMain);
    }
  }, LONG);

  onNetwork(
    "a wrong password, an unknown handle and a suspended account are explained",
    function* () {
      const { assistant, person, network } = yield* useWorld(WAYS[0]!, "nothing");
      const { handle, appPassword: password } = person;
      const call = (name: string, args: object) => until(assistant.call(name, args));
      for (const args of [{ handle, password: "wrong" }, { handle: "nobody.test", password }]) {
        const { text, isError } = yield* call("login", args);
        assert.equal(isError, true);
        assert.match(text, /the handle or the password is wrong; check both and try again/);
      }
      yield* call("login", { handle, password });
      const unknown = yield* call("profile", { account: "nobody.test" });
      assert.match(unknown.text, /Bluesky has no account named "nobody\.test"/);

      const { text } = yield* call("login", { method: "oauth", handle: "nobody.test" });
      const page = yield* until(fetch(/http:\S+\/oauth/.exec(text)![0], { redirect: "manual" }));
      assert.equal(page.status, 400);
      assert.match(
        yield* until(page.text()),
        /Bluesky has no account named &#34;nobody\.test&#34;.*Try again/s,
      );

      // The service says so only to a caller who knows the main password.
      yield* until(network.takeDown(person));
      const down = yield* call("login", { handle, password: person.password });
      assert.match(
        down.text,
        /the account has been taken down by localhost:\d+; its support can tell/,
      );
      yield* until(network.restore(person));
      assert.equal((yield* call("login", { handle, password })).isError, false);
    },
    LONG,
  );

  onNetwork(
    "too many sign-ins are reported with the time when they are allowed again",
    function* () {
      const { assistant, network: { limited } } = yield* useWorld(WAYS[0]!, "nothing");
      // A separate name for each runtime: five minutes that the other began may be over at any
      // time.
      const handle = `somebody-else-on-${currentRuntime()}.test`;
      let told = "";
      for (let tries = 0; tries < 40 && !/no more requests/.test(told); tries++) {
        const { text } = yield* until(
          assistant.call("login", { handle, password: "wrong", service: limited.pds }),
        );
        told = text;
      }
      assert.match(
        told,
        /has received too many requests; try again after \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, in about \d minutes?$/,
      );
    },
    LONG,
  );
});
