/** Alice, whom an issuer without a server knows, and who has signed in in her browser. */
import type { Clock, ParleyOptions, Sealer } from "parley-mcp";
import { BrowserSessions } from "../../src/auth/browser-session.ts";
import { ISSUER, TestIssuer } from "../auth/issuer.ts";

export class SignedInPerson {
  readonly #issuer: TestIssuer;

  private constructor(issuer: TestIssuer) {
    this.#issuer = issuer;
  }

  static async create(): Promise<SignedInPerson> {
    return new SignedInPerson(await TestIssuer.create());
  }

  /** The options of a server that knows her. */
  get auth(): NonNullable<ParleyOptions["auth"]> {
    return {
      issuers: [ISSUER],
      signIn: { clientId: "parley-pages" },
      fetch: this.#issuer.fetch as typeof fetch,
    };
  }

  /** What the issuer returns, by path. */
  async documents(): Promise<{ readonly [path: string]: unknown }> {
    const { answers } = this.#issuer;
    const { signal } = new AbortController();
    const entries = Object.entries(answers).map(async ([path, answer]) =>
      [path, await (await answer(signal)).json()] as const
    );
    return Object.fromEntries(await Promise.all(entries));
  }

  /** The headers of her client. */
  async headers(clock: Pick<Clock, "now">): Promise<Record<string, string>> {
    const exp = Math.floor(clock.now() / 1_000) + 3_600;
    return { authorization: `Bearer ${await this.#issuer.token({ claims: { exp } })}` };
  }

  /** The cookie of her browser. The server has the same sealer. */
  cookie(sealer: Sealer, now: number): string {
    const alice = { id: `${ISSUER}|user|alice`, subject: "alice", scopes: [], claims: {} };
    return new BrowserSessions(sealer, () => false).begin(alice, now).split(";")[0]!;
  }
}
