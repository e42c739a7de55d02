/** Ports of this machine, each open for as long as somebody uses it. */
import { type Operation, until } from "effection";
import { PageError } from "../model/errors.ts";

type Fetch = (request: Request) => Promise<Response>;

/** As every host can: serves a fetch handler at a port; 0 for any that is free. */
export type OpenPort = (
  fetch: Fetch,
  options: { readonly port: number; readonly hostname: string },
) => Promise<{ readonly port: number; stop(): Promise<void> }>;

interface Port {
  readonly opened: ReturnType<OpenPort>;
  users: number;
}

const HERE = "127.0.0.1";

export class Ports {
  readonly #ports = new Map<number, Port>();
  /** Those that are being closed. */
  readonly #closing = new Set<Promise<void>>();

  constructor(readonly openPort: OpenPort | undefined, readonly fetch: Fetch) {}

  /** Where a port is reached, and how to let go of it. */
  *use(number = 0): Operation<{ url: string; release: () => void }> {
    if (!this.openPort) {
      throw new PageError("this server cannot open a port", "serve the tool over HTTP");
    }
    let port = this.#ports.get(number);
    if (!port) {
      const opened = this.openPort(this.fetch, { port: number, hostname: HERE });
      port = { opened, users: 0 };
      this.#ports.set(number, port);
    }
    const release = this.#hold(number, port);
    let url: string | undefined;
    try {
      url = `http://${HERE}:${(yield* until(port.opened)).port}`;
    } catch (error) {
      throw new PageError(`port ${number} ${whyNot(error)}`, "choose another port, or none");
    } finally {
      if (url === undefined) release();
    }
    return { url, release };
  }

  /** Waits until every port that nobody uses any more is closed. */
  async closed(): Promise<void> {
    await Promise.all(this.#closing);
  }

  #hold(number: number, port: Port): () => void {
    port.users++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      if (--port.users > 0) return;
      this.#ports.delete(number);
      // One that never opened needs no closing.
      const closing = port.opened.then((server) => server.stop()).catch(() => {});
      this.#closing.add(closing);
      closing.then(() => this.#closing.delete(closing));
    };
  }
}

/** Each runtime has words of its own for the same few things. */
function whyNot(error: unknown): string {
  const { code = "", name = "" } = (error ?? {}) as { code?: string; name?: string };
  if (code === "EADDRINUSE" || name === "AddrInUse") return "of this machine is taken";
  if (code === "EACCES" || name === "PermissionDenied") return "needs special rights";
  return "cannot be opened";
}
