/** Reads a folder of skills again when its files change. */
import { watch } from "node:fs";
import { createSignal, type Operation, resource, sleep, type Stream, until } from "effection";
import type { FinalizedMcpSkill } from "../tool/skill.ts";
import { readMcpSkills } from "./folder.ts";

/** The changes between two readings of a folder. */
export interface SkillChanges {
  /** The names of skills that were removed or changed. */
  readonly removed: readonly string[];
  /** Skills that are new or changed. */
  readonly added: readonly FinalizedMcpSkill[];
  /** The URIs of files whose content changed. */
  readonly updated: readonly string[];
}

export interface SkillsWatcher {
  changed(changes: SkillChanges): void;
  /**
   * Called if the folder cannot be read, or contains an invalid skill. The skills stay as they
   * were.
   */
  failed(error: unknown): void;
}

/** Editors write a file in several steps. Wait until this many milliseconds pass without a change. */
const QUIET = 50;

/** Watches a folder until the operation is halted. */
export function* watchMcpSkills(
  folder: string,
  first: readonly FinalizedMcpSkill[],
  watcher: SkillsWatcher,
): Operation<void> {
  let known = first;
  let seen = 0;
  const events = yield* (yield* useFolderEvents(folder, () => seen++, watcher));
  // Read once at the start: the folder may have changed before it was watched.
  for (let handled = -1;;) {
    while (seen === handled) yield* events.next();
    yield* sleep(QUIET);
    handled = seen;
    try {
      const now = yield* until(readMcpSkills(folder));
      const changes = changesBetween(known, now);
      known = now;
      if (changes.added.length > 0 || changes.removed.length > 0) watcher.changed(changes);
    } catch (error) {
      watcher.failed(error);
    }
  }
}

function useFolderEvents(
  folder: string,
  count: () => void,
  { failed }: SkillsWatcher,
): Operation<Stream<void, never>> {
  return resource(function* (provide) {
    const events = createSignal<void, never>();
    const watching = watch(folder, { recursive: true }, () => {
      count();
      events.send();
    });
    watching.on("error", failed);
    try {
      yield* provide(events);
    } finally {
      watching.close();
    }
  });
}

function changesBetween(
  before: readonly FinalizedMcpSkill[],
  after: readonly FinalizedMcpSkill[],
): SkillChanges {
  const old = new Map(before.map((skill) => [skill.name, skill]));
  const added = after.filter((skill) => !isSame(old.get(skill.name), skill));
  const stays = new Set(after.filter((skill) => !added.includes(skill)).map(({ name }) => name));
  const digests = new Map(
    before.flatMap(({ files }) => files).map((file) => [file.uri, file.digest]),
  );
  return {
    removed: before.map(({ name }) => name).filter((name) => !stays.has(name)),
    added,
    updated: added.flatMap(({ files }) => files)
      .filter(({ uri, digest }) => (digests.get(uri) ?? digest) !== digest).map(({ uri }) => uri),
  };
}

function isSame(one: FinalizedMcpSkill | undefined, other: FinalizedMcpSkill): boolean {
  return one?.uri === other.uri && one.files.length === other.files.length &&
    one.files.every(({ uri, digest }, index) =>
      uri === other.files[index]!.uri && digest === other.files[index]!.digest
    );
}
