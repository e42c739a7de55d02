import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import { describe, it } from "../suite.ts";
import { type AttackScene, useScene } from "./attack-scene.ts";
import { type Attack, ATTACKS } from "./attacks.ts";

/** What no refusal may contain, besides the secrets of the scene. */
const NEVER = [
  /alice/i,
  /The (question|page) of/,
  /\bk0\b/,
  /\n\s+at /,
  /\.ts\b/,
];
const USUAL_HEADERS = ["content-type", "cache-control", "www-authenticate"];

interface Told {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
}

async function told(response: Response): Promise<Told> {
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
}

function* attemptOf(attack: Attack, scene: AttackScene): Operation<Response> {
  const attempt = attack.attempt(scene);
  return attempt instanceof Promise ? yield* until(attempt) : yield* attempt;
}

/** The parts of a response that differ between two requests that are otherwise the same. */
function withoutIds({ status, headers, body }: Told, scene: AttackScene): Told {
  const { alice } = scene;
  let text = body.replace(/"id":\d+/g, '"id":0').replace(/subscriptionId":\d+/g, "")
    .replace(/after \\"[\d.]+\\"/g, "after ID");
  for (const id of [alice.taskId, alice.sessionId, "nosuch"]) text = text.replaceAll(id, "ID");
  return { status, headers, body: text };
}

describe("an attack is refused, and learns nothing from that", () => {
  for (const attack of ATTACKS) {
    it(attack.name, function* () {
      const scene = yield* useScene();
      const { log, secrets, issuer } = scene;
      const refused = yield* until(told(yield* attemptOf(attack, scene)));
      const { status, headers, body } = refused;
      assert.equal(status, attack.status, body);
      assert.match(body, attack.body);
      const challenge = headers["www-authenticate"];
      if (attack.challenge) assert.match(challenge ?? "", attack.challenge);
      else assert.equal(challenge, undefined);
      const allowed = [...USUAL_HEADERS, ...attack.headers ?? []];
      assert.deepEqual(Object.keys(headers).filter((name) => !allowed.includes(name)), []);
      const sent = `${JSON.stringify(headers)}\n${body}`;
      for (const secret of secrets) {
        assert.ok(!sent.includes(secret), "the response contains a secret");
        assert.ok(!log.join("\n").includes(secret), "the log contains a secret");
      }
      for (const pattern of NEVER) assert.doesNotMatch(sent, pattern);
      assert.ok(!issuer.origins.some((origin) => origin.includes("evil")), "it asked the attacker");
      if (attack.unknown) {
        const unknown = yield* until(attack.unknown(scene).then(told));
        assert.deepEqual(withoutIds(refused, scene), withoutIds(unknown, scene));
      }
      yield* until(scene.alice.check());
    });
  }
});
