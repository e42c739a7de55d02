/** `parley serve`: an MCP server over HTTP that runs until a signal stops it. */
import process from "node:process";
import { type Operation, race, sleep, spawn, until } from "effection";
import { messageOf } from "../../lib/message-of.ts";
import { type Parley, useParley } from "../../parley.ts";
import { listen } from "../../platform/listen.ts";
import type { Listen, ListenerNotice, Listening, ListenOptions } from "../../platform/types.ts";
import type { Environment } from "../environment.ts";
import { logQuestions, OperatorLog } from "../log.ts";
import { useLogLines } from "../log-lines.ts";
import { Problem, USAGE } from "../problem.ts";
import type { ServeFlags } from "../server-flags.ts";
import { exitCodeOf, useSignals } from "../signals.ts";
import { useStrayErrors } from "../stray-errors.ts";
import { banner } from "../terminal/banner.ts";
import { authFrom, isLocal, reachOf } from "./access.ts";
import { useAuditLog } from "./audit-log.ts";
import { dataCheck } from "./data-check.ts";
import { loadDefinitions } from "./definitions-to-serve.ts";
import { askOptions } from "./asking.ts";
import { type FormPasswordFlags, formPasswords } from "./form-passwords.ts";
import { identityOptions, limitOptions } from "./identity.ts";
import { keysIn, sealerFrom } from "./key.ts";
import { reloadSkills } from "./skills.ts";

/** The values of the flags. */
export type ServeOptions = ServeFlags & FormPasswordFlags;

const NO_KEY =
  "Cannot use --state sealed: all servers that share calls need the same key, and there is none; set PARLEY_KEY";
const NO_AUDIT_LOG =
  "Cannot use --audit-data: there is no audit log to which data could be added; add --audit-log";
const DAY = 24 * 3_600_000;
const MB = 1024 * 1024;

/** Milliseconds that idle connections may stay open after the last response has ended. */
const LINGERING = 1_000;

export function* serve(
  modules: readonly string[],
  options: ServeOptions,
  environment: Environment,
): Operation<number> {
  const lines = yield* useLogLines();
  const log = new OperatorLog({
    level: options.logLevel,
    format: options.logFormat,
    write: (line, isUrgent) => lines.add(line, isUrgent),
  });
  const auth = authFrom(options);
  const signals = yield* useSignals();
  yield* useStrayErrors(log);
  const { announced, serve, skills } = yield* until(
    loadDefinitions(modules, options, environment),
  );
  const asking = askOptions(options);
  // Refuse a generated key: other servers could not open the state that it seals.
  if (options.state === "sealed" && !process.env["PARLEY_KEY"]) throw new Problem(NO_KEY, USAGE);
  const store = options.store === undefined
    ? undefined
    : yield* (yield* until(import("./store.ts"))).useStore(
      options.store,
      keysIn(process.env["PARLEY_KEY"]).length > 0,
    );
  let server: Listening | undefined = undefined;
  const checkData = dataCheck(log);
  if (options.auditData && options.auditLog === undefined) throw new Problem(NO_AUDIT_LOG, USAGE);
  const audit = options.auditLog === undefined
    ? undefined
    : yield* useAuditLog(options.auditLog, log, { hasData: options.auditData ?? false });
  const showsBanner = options.logFormat !== "json" && options.logLevel !== "silent";
  const links = options.console
    ? new (yield* until(import("./console-link.ts"))).ConsoleLinks(
      environment.terminal,
      showsBanner,
    )
    : undefined;
  const parley = yield* useParley({
    serve,
    ...identityOptions(options, environment.version),
    allowHosts: options.allowHost ?? [],
    allowOrigins: options.allowOrigin ?? [],
    trustProxy: options.trustProxy ?? [],
    legacySse: options.legacySse ?? false,
    ...(links && { console: links.options }),
    ...(auth && {
      auth: {
        ...auth,
        onRefused: (refusal) => {
          log.refusal(refusal);
          audit?.refused(refusal);
        },
      },
    }),
    ...(audit && { use: [audit.middleware] }),
    ...logQuestions(log, audit?.answered),
    localOnly: isLocal(options.host),
    publicUrl: options.publicUrl ?? (() => server && ownAddress(server, options)),
    formPasswords: formPasswords(options, log),
    ...asking,
    sealer: sealerFrom(process.env, log, store?.key),
    state: options.state,
    limits: {
      ...limitOptions(options),
      durableTimeToLive: options.keep * DAY,
      maxMemory: options.maxMemory * MB,
      maxStore: options.maxStore * MB,
      ...(options.maxRequests !== undefined && { maxRequestsPerMinute: options.maxRequests }),
    },
    ...(store && { store: store.stores.sessions, clients: store.stores.clients }),
    report: (fault) => log.fault(fault),
    onCall: (call) => {
      log.call(call);
      audit?.ended(call);
      checkData(call);
    },
  });
  if (skills) yield* spawn(() => reloadSkills(parley, skills, log));
  server = yield* until(
    listening(environment.listen ?? listen, logged(parley, log), options, {
      notice: listenerLog(log),
      busy: () => parley.counts.streams,
    }),
  );
  const address = addressOf(server);
  const { terminal, version } = environment;
  const { provider } = asking.sampling ?? {};
  const reach = reachOf(options, auth);
  if (options.logFormat === "json") {
    log.say("info", "serving", { address, version, model: provider?.name, reach });
  } else if (showsBanner) {
    const console = links && (yield* until(links.first(parley, address)));
    terminal.note(banner({ address, version, announced, provider, reach, console, terminal }));
  }
  lines.release();
  const failed = server.failed.then((error) => ({ error }));
  const ending = yield* race([signals.next(), until(failed)]);
  if (!("error" in ending)) {
    log.say("info", `stopping after ${ending.value}; repeat the signal to exit now`);
  }
  yield* spawn(function* () {
    process.exit(exitCodeOf((yield* signals.next()).value));
  });
  yield* until(parley.close({ grace: options.grace * 1_000 }));
  yield* race([until(server.stop()), sleep(LINGERING)]);
  if ("error" in ending) {
    throw new Problem(
      `Cannot continue serving at ${address}: ${messageOf(ending.error)}; start the server again`,
    );
  }
  log.say("info", "stopped");
  return 0;
}

/** Logs when the server cannot accept connections, and when it can again. */
function listenerLog(log: OperatorLog): (notice: ListenerNotice) => void {
  return (notice) => {
    if (notice.type === "restored") return log.say("info", "accepting connections again");
    const reason = messageOf(notice.error);
    log.say("error", "cannot accept connections: closing idle connections and listening again", {
      reason,
    });
  };
}

async function listening(
  listen: Listen,
  fetch: Parley["fetch"],
  { port, host }: ServeOptions,
  watching: Pick<ListenOptions, "notice" | "busy">,
): Promise<Listening> {
  try {
    return await listen(fetch, { port, hostname: host, ...watching });
  } catch (error) {
    throw new Problem(`Cannot serve at ${host}:${port}: ${whyNot(error, port)}`);
  }
}

/** Translates the error codes of the runtimes into one message for each cause. */
function whyNot(error: unknown, port: number): string {
  const { code = "", name = "" } = error as { code?: string; name?: string };
  if (code === "EADDRINUSE" || name === "AddrInUse") {
    return `the port is in use; stop the program that uses it, or choose another with --port ${
      port + 1
    }`;
  }
  if (code === "EACCES" || name === "PermissionDenied") {
    return "the port needs elevated rights; choose one above 1023 with --port";
  }
  if (code === "EADDRNOTAVAIL" || name === "AddrNotAvailable" || code === "ENOTFOUND") {
    return "this machine has no such address; choose one of its addresses with --host";
  }
  return `${messageOf(error)}; choose another address with --host and --port`;
}

/** Adds a log line for each request if the log level is `debug`. */
function logged(parley: Parley, log: OperatorLog): Parley["fetch"] {
  if (!log.has("debug")) return parley.fetch;
  return async (request, connection) => {
    const start = performance.now();
    const response = await parley.fetch(request, connection);
    const ms = Math.round(performance.now() - start);
    // The path of a page is a secret: it gives access to the page.
    const pathname = new URL(request.url).pathname.replace(/(?<=^\/pages\/).*/, "…");
    log.say("debug", `${request.method} ${pathname} ${response.status}`, { ms });
    return response;
  };
}

/** The URL for browsers on this machine. Undefined if browsers may use another host name. */
function ownAddress(server: Listening, { host, allowHost = [] }: ServeOptions): string | undefined {
  const { origin, hostname } = new URL(addressOf(server));
  const own = host !== "0.0.0.0" && host !== "::" && allowHost.length === 0 &&
    /^(localhost|127\..+|\[::1\])$/.test(hostname);
  return own ? origin : undefined;
}

/** The URL for clients on this machine. */
function addressOf({ hostname, port }: Listening): string {
  const host = hostname === "0.0.0.0" || hostname === "::" ? "localhost" : hostname;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}/mcp`;
}
