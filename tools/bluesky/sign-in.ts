/** Signs in with an app password, from an argument, a form or a page. */
import { type Operation, until } from "effection";
import { carefulFetch } from "./careful-fetch.ts";
import type { Desk } from "./caller-accounts.ts";
import type { Account } from "./schemas.ts";
import { type Doing, explained } from "./explain-error.ts";

export type NewAccount = Omit<Account, "default">;

/** The service, handle and password of a sign-in. */
export interface Person {
  readonly handle: string;
  readonly password: string;
  readonly service: string;
}

export function* signInWithAppPassword(desk: Desk, person: Person): Operation<NewAccount> {
  const { setup, accounts, site: { local } } = desk;
  const { handle, service } = person;
  const { signInWithPassword } = yield* until(import("./atproto/mod.ts"));
  const { did, secret, mainPassword, ...known } = yield* trying(
    desk,
    { what: `sign in as "${handle}"`, service, secret: person.password },
    () => signInWithPassword(person, carefulFetch({ setup, service, local })),
  );
  const method = "app-password";
  const account = { did, ...known, service, method, signedIn: true, mainPassword } as const;
  yield* until(accounts.keep(did, { method, service, secret }));
  yield* until(accounts.add(account));
  return account;
}

/** Calls a service and explains its errors. */
export function* trying<T>(
  { setup }: Desk,
  doing: Omit<Doing, "now">,
  ask: () => Promise<T>,
): Operation<T> {
  try {
    return yield* until(ask());
  } catch (error) {
    throw explained(error, { ...doing, now: setup.now() });
  }
}
