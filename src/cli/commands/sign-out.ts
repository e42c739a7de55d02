/** `parley sign-out`: revokes and deletes the tokens for a server. */
import { type Operation, until, useAbortSignal } from "effection";
import { forget, revoke } from "../../client/oauth/sign-out.ts";
import { openVault } from "../../vault/open.ts";
import type { Environment } from "../environment.ts";
import { Problem } from "../problem.ts";
import { visible } from "../terminal/visible.ts";
import { serverAddress } from "./remote-server.ts";

export function* signOut(url: string, { terminal }: Environment): Operation<number> {
  const server = serverAddress(url);
  const vault = yield* until(openVault());
  const forgotten = yield* until(forget(vault, server));
  if ("others" in forgotten) {
    const { others } = forgotten;
    throw new Problem(
      `Cannot sign out of ${server}: you are not signed in there; ${
        others.length > 0
          ? `you are signed in to ${others.map(visible).join(", ")}`
          : "you are not signed in to any server"
      }`,
    );
  }
  const signal = yield* useAbortSignal();
  const isRevoked = yield* until(revoke(server, forgotten, signal));
  terminal.note(
    isRevoked
      ? `Signed out of ${server}.`
      : `Signed out of ${server}. Its authorization server did not revoke the tokens, so they stay valid until they expire.`,
  );
  return 0;
}
