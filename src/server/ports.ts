/** Local ports. Each port is open only while at least one user holds it. */
import { type Operation, until } from "effection";
import { PageError } from "../model/errors.ts";

type Fetch = (request: Request) => Promise<Response>;

/** Opens a port that serves a fetch handler. Port 0 means any free port. */
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
  /** Ports that are being closed. */
  readonly #closing = new Set<Promise<void>>();

  constructor(readonly openPort: OpenPort | undefined, readonly fetch: Fetch) {}

  /** Opens a port, or uses one that is already open. Returns its URL and a function to release it. */
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

  /** Waits until all released ports are closed. */
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
      // A port that failed to open needs no closing.
      const closing = port.opened.then((server) => server.stop()).catch(() => {});
      this.#closing.add(closing);
      closing.then(() => this.#closing.delete(closing));
    };
  }
}

/** Explains why a port could not be opened. The error codes differ between runtimes. */
function whyNot(error: unknown): string {
  const { code = "", name = "" } = (error ?? {}) as { code?: string; name?: string };
  if (code === "EADDRINUSE" || name === "AddrInUse") return "is in use";
  if (code === "EACCES" || name === "PermissionDenied") return "needs elevated rights";
  return "cannot be opened";
}
