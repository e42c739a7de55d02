/** A browser without a window: follows redirects and keeps cookies, by name and origin. */

/** Where a visit ended. The response is absent if the browser stopped before the request. */
export interface Visit {
  readonly url: string;
  readonly response?: Response;
  /** The statuses on the way. */
  readonly statuses: readonly number[];
}

const MOST_REDIRECTS = 20;

export class Browser {
  readonly #everywhere: { readonly [name: string]: string };
  readonly #cookies = new Map<string, Map<string, string>>();

  /** `everywhere` are cookies that are sent to every server. */
  constructor(everywhere: { readonly [name: string]: string } = {}) {
    this.#everywhere = everywhere;
  }

  /** Opens a page, and stops before a URL for which `stopAt` returns true. */
  async visit(
    start: string,
    stopAt: (url: string) => boolean = () => false,
    init: RequestInit = {},
  ): Promise<Visit> {
    let url = start;
    const statuses: number[] = [];
    for (let i = 0; i < MOST_REDIRECTS; i++) {
      if (stopAt(url)) return { url, statuses };
      const headers = new Headers(init.headers);
      headers.set("cookie", this.cookiesFor(url));
      const response = await fetch(url, { ...(i === 0 && init), redirect: "manual", headers });
      statuses.push(response.status);
      this.#keep(url, response.headers.getSetCookie());
      const location = response.headers.get("location");
      if (location === null) return { url, response, statuses };
      await response.body?.cancel();
      url = new URL(location, url).href;
    }
    throw new Error(`too many redirects, the last to ${url}`);
  }

  cookiesFor(url: string): string {
    const own = this.#cookies.get(new URL(url).origin) ?? new Map();
    return Object.entries({ ...this.#everywhere, ...Object.fromEntries(own) })
      .map(([name, value]) => `${name}=${value}`).join("; ");
  }

  #keep(url: string, cookies: readonly string[]): void {
    const { origin } = new URL(url);
    const own = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, own);
    for (const cookie of cookies) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      if (value === "" || /max-age=0\b/i.test(cookie)) own.delete(name!);
      else own.set(name!, value!);
    }
  }
}
