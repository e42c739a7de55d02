/** Checks that a flow whose server was killed went like an uninterrupted one. */
import assert from "node:assert/strict";
import type { Story } from "./flows.ts";
import type { Effect } from "./tools.ts";

/** Throws if the flow went differently. */
export function assertSame(killed: Story, alone: Story): void {
  assert.deepEqual(asDone(killed), asDone(alone), "the result");
  const done = bySession(killed.effects);
  const session = finishedSession(killed);
  const finished = done.get(session)!;
  const [expected] = [...bySession(alone.effects).values()];
  assert.deepEqual(finished, expected, "the effects, by their keys");
  assertSameMakes(killed);
  done.delete(session);
  for (const abandoned of done.values()) {
    // Calls that were made before the client had anything to name its call by: at most the effects
    // before the first question, each once, and never more such calls than the client made.
    assert.deepEqual(abandoned, expected!.filter((suffix) => suffix.startsWith("#before")));
  }
  assert.ok(done.size < killed.calls, `${done.size + 1} calls had effects, of ${killed.calls}`);
  const asked = (story: Story) => [...story.questions.values()].toSorted();
  assert.deepEqual(asked(killed), asked(alone), "what reached the person and the model");
  const told = (story: Story) =>
    killed.kind.era === "legacy" ? story.told.toSorted() : [...new Set(story.told)].toSorted();
  assert.deepEqual(told(killed), told(alone), "what the client was told");
}

/** The result without what differs in every call. */
function asDone({ result }: Story): object {
  const { number: _number, since: _since, luck: _luck, ...rest } = result;
  return rest;
}

/** The keys of the effects, without their session, by session; each counted once. */
function bySession(effects: readonly Effect[]): Map<string, string[]> {
  const keys = new Map<string, Effect>();
  for (const effect of effects) {
    const before = keys.get(effect.key);
    // A repeated effect must be identical.
    if (before) assert.deepEqual(effect, { ...before }, "the same key, but something else");
    keys.set(effect.key, effect);
  }
  const sessions = new Map<string, string[]>();
  for (const { key } of keys.values()) {
    const session = key.slice(0, key.indexOf(":"));
    sessions.set(
      session,
      [...sessions.get(session) ?? [], key.slice(session.length + 1)].toSorted(),
    );
  }
  return sessions;
}

/**
 * The session of the result. Not the one with the last effect: an abandoned call may be revived
 * later.
 */
function finishedSession({ result, effects }: Story): string {
  const held = effects.find(({ name, data }) =>
    name === "hold" && (data as { number: string }).number === result.number
  );
  assert.ok(held, "what the result tells of was held");
  return sessionOf(held);
}

function sessionOf({ key }: Effect): string {
  return key.slice(0, key.indexOf(":"));
}

/** What differs between calls is constant within one. */
function assertSameMakes(story: Story): void {
  const { result, effects } = story;
  const { number, since, luck } = result;
  const session = finishedSession(story);
  const made = effects.filter((effect) => sessionOf(effect) === session)
    .filter(({ name }) => name === "hold" || name === "ship");
  assert.ok(made.length >= 2, "it was held and shipped");
  for (const { data } of made) assert.deepEqual(data, { number, since, luck });
  assert.match(number, /^[0-9a-f-]{36}$/);
  assert.ok(since > 1_700_000_000_000 && luck >= 0 && luck < 1);
}
