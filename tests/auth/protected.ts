/** A server on a socket that accepts the tokens of a real authorization server. */
import { ensure, type Operation, until } from "effection";
import {
  type AuthOptions,
  type Clock,
  createMcpTool,
  createParley,
  type Parley,
  type ParleyOptions,
} from "parley-mcp";
import { z } from "zod";
import { systemClock } from "../../src/lib/clock.ts";
import { listen } from "../../src/platform/listen.ts";
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  useAuthorizationServer,
} from "../support/authorization-server.ts";
import { DOCUMENTS } from "../support/signed-in-clients.ts";

/** The system's clock, which a test can put forward. */
export class SkewedClock implements Clock {
  #ahead = 0;
  now = () => Date.now() + this.#ahead;
  after = systemClock.after;
  putForward(ms: number): void {
    this.#ahead += ms;
  }
}

export interface Protected {
  readonly url: string;
  readonly issuer: AuthorizationServer;
  readonly parley: Parley;
  readonly clock: SkewedClock;
}

const hello = createMcpTool("hello").description("Says hello.").execute(function* (_, ctx) {
  return `Hello ${ctx.principal.id}`;
});
const book = createMcpTool("book").description("Books.").scopes("flights:book")
  .execute(function* (_, ctx) {
    return `Booked for ${ctx.principal.subject}`;
  });
const ask = createMcpTool("ask").description("Asks.")
  .elicits({ ok: { response: z.object({ yes: z.boolean() }) } })
  .execute(function* (_, ctx) {
    const { action } = yield* ctx.elicit("ok", { message: "Sure?" });
    return `${action} by ${ctx.principal.subject}`;
  });
const page = createMcpTool("page").description("Opens a page.").execute(function* (_, ctx) {
  const { url } = yield* ctx.usePage({
    stays: 7_200_000,
    *respond() {
      const headers = { "content-type": "text/plain" };
      return new Response(`A page for ${ctx.principal.subject}`, { headers });
    },
  });
  return url;
});

export interface ProtectedOptions {
  readonly issuer?: Partial<AuthorizationServerOptions>;
  readonly auth?: (issuer: AuthorizationServer) => Partial<AuthOptions>;
  readonly parley?: ParleyOptions;
}

export function* useProtected(options: ProtectedOptions = {}): Operation<Protected> {
  let url = "";
  const clock = new SkewedClock();
  const issuer = yield* useAuthorizationServer({
    resources: () => [url],
    documents: DOCUMENTS,
    ...options.issuer,
  });
  const parley = createParley({
    serve: [hello, book, ask, page],
    clock,
    publicUrl: () => new URL(url).origin,
    auth: { issuers: [issuer.issuer], scopes: ["mcp"], ...options.auth?.(issuer) },
    ...options.parley,
  });
  const listening = yield* until(listen(parley.fetch, { port: 0, hostname: "127.0.0.1" }));
  yield* ensure(() => until(parley.close().then(() => listening.stop())));
  url = `http://127.0.0.1:${listening.port}/mcp`;
  return { url, issuer, parley, clock };
}
