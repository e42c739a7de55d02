/** A service with scripted responses that records its requests. */

import type { Network } from "../../../tools/bluesky/net/network.ts";

export interface Asked {
  readonly method: string;
  readonly query: URLSearchParams;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
  readonly authorization: string | null;
}

export const PERSON = {
  handle: "alice.test",
  did: "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa",
  appPassword: "abcd-efgh-ijkl-mnop",
  mainPassword: "correct horse battery staple",
};

export class FakeService {
  readonly url = "https://fake.example";
  readonly asked: Asked[] = [];
  /** Responses that replace the default, by the last part of the method's name. */
  readonly instead = new Map<string, (asked: Asked) => Response | Promise<Response>>();
  /** The tokens that it accepts. */
  readonly good = new Set<string>();
  #number = 0;

  /** Everything but this service is unreachable. */
  readonly network: Network = {
    resolve: () => Promise.resolve(["93.184.215.14"]),
    send: (request) => this.#send(request),
  };

  async #send(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.origin !== this.url) throw new TypeError("there is no network");
    const name = url.pathname.split(".").at(-1)!;
    const text = await request.text();
    const asked: Asked = {
      method: name,
      query: url.searchParams,
      body: text === "" ? undefined : JSON.parse(text),
      authorization: request.headers.get("authorization"),
    };
    this.asked.push(asked);
    request.signal.throwIfAborted();
    const instead = this.instead.get(name);
    return instead ? await untilAborted(instead(asked), request.signal) : this.#answer(asked);
  }

  /** The requests to one method. */
  of(method: string): Asked[] {
    return this.asked.filter((asked) => asked.method === method);
  }

  #answer({ method, query, body, authorization }: Asked): Response {
    const token = authorization?.replace("Bearer ", "") ?? "";
    switch (method) {
      case "createSession":
        return this.#session(body);
      case "refreshSession":
        if (!this.good.delete(token)) return refusal(400, "ExpiredToken", "Token has been revoked");
        return Response.json(this.#tokens("com.atproto.appPass"));
      case "deleteSession":
        this.good.delete(token);
        return new Response(null, { status: 200 });
    }
    if (!this.good.has(token)) return refusal(400, "ExpiredToken", "Token has expired");
    switch (method) {
      case "getProfile":
        return Response.json(profileOf(query.get("actor")!));
      case "searchPosts":
        return Response.json({ posts: [], cursor: "next" });
    }
    return refusal(501, "MethodNotImplemented", "no");
  }

  #session({ identifier, password }: { identifier: string; password: string }): Response {
    const scopes: Record<string, string> = {
      [PERSON.appPassword]: "com.atproto.appPass",
      [PERSON.mainPassword]: "com.atproto.access",
    };
    const scope = scopes[password];
    if (scope === undefined || ![PERSON.handle, PERSON.did].includes(identifier)) {
      return refusal(401, "AuthenticationRequired", "Invalid identifier or password");
    }
    return Response.json(this.#tokens(scope));
  }

  #tokens(scope: string) {
    const token = (kind: string) => {
      const payload = btoa(JSON.stringify({ scope, kind, n: ++this.#number }));
      const made = `eyJ.${payload.replace(/=+$/, "")}.SECRET${kind}`;
      this.good.add(made);
      return made;
    };
    const { handle, did } = PERSON;
    return {
      handle,
      did,
      active: true,
      emailConfirmed: true,
      didDoc: {},
      accessJwt: token("access"),
      refreshJwt: token("refresh"),
    };
  }
}

export const PROFILE = {
  did: PERSON.did,
  handle: PERSON.handle,
  displayName: "Alice",
  description: "Maps and gardens",
  avatar: "https://cdn.example/alice.png",
  followersCount: 3,
  followsCount: 2,
  postsCount: 1_234,
  createdAt: "2024-01-01T00:00:00.000Z",
  indexedAt: "2024-01-02T00:00:00.000Z",
};

function profileOf(actor: string) {
  return actor.startsWith("did:") ? { ...PROFILE, did: actor } : { ...PROFILE, handle: actor };
}

export function refusal(
  status: number,
  error: string,
  message: string,
  headers: Record<string, string> = {},
): Response {
  return Response.json({ error, message }, { status, headers });
}

function untilAborted<T>(answer: T | Promise<T>, signal: AbortSignal): Promise<T> {
  return Promise.race([
    answer,
    new Promise<T>((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    }),
  ]);
}
