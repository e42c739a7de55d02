// PLC directory, PDS and AppView on 127.0.0.1, from the published packages, seeded.
//
//     node start.mjs      in its own folder, which tests/bluesky-net/host.ts creates
//
// It writes its description to network.json, prints "ready", and runs until its stdin ends,
// SIGTERM or SIGINT. It removes the folder at its end.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { freePorts } from "./loopback.mjs";
import { startPostgres } from "./postgres.mjs";

const folder = import.meta.dirname;
const started = performance.now();
const log = (words) =>
  process.stderr.write(`[${((performance.now() - started) / 1000).toFixed(1)} s] ${words}\n`);

let postgres, network, limited, closing;
function stop(code) {
  return closing ??= (async () => {
    setTimeout(() => process.exit(1), 20_000).unref();
    for (const close of [() => limited?.close(), () => network?.close(), () => postgres?.stop()]) {
      try {
        await close();
      } catch (error) {
        log(`while stopping: ${error?.message ?? error}`);
      }
    }
    log("stopped");
    rmSync(folder, { recursive: true, force: true });
    process.exit(code);
  })();
}
process.on("SIGTERM", () => stop(0));
process.on("SIGINT", () => stop(0));
process.stdin.on("end", () => stop(0)).resume();
process.on("uncaughtException", (error) => {
  log(`fatal: ${error?.stack ?? error}`);
  stop(1);
});
process.on("unhandledRejection", (error) => log(`unhandled rejection: ${error?.message ?? error}`));

try {
  // The PDS puts its SQLite files and blobs here.
  process.env.TMPDIR = path.join(folder, "tmp");
  mkdirSync(process.env.TMPDIR);
  process.env.LOG_ENABLED ??= "false";
  process.env.NODE_ENV ??= "development";
  // dev-env insists on the variable; the services that it starts never open a connection.
  process.env.REDIS_HOST = "127.0.0.1:1";

  const [postgresPort, pdsPort, appviewPort, plcPort, ozonePort, limitedPort] = await freePorts(6);
  const [database, { TestNetwork, TestPds }] = await Promise.all([
    startPostgres(folder, postgresPort),
    import("@atproto/dev-env"),
  ]);
  postgres = database;
  log("postgres is up, modules are loaded");
  const pages = Object.fromEntries(
    ["home", "termsOfService", "privacyPolicy", "support"]
      .map((name) => [`${name}Url`, `http://localhost/${name}`]),
  );
  const pds = { hostname: "localhost", serviceHandleDomains: [".test"], ...pages };
  network = await TestNetwork.create({
    dbPostgresUrl: postgres.url,
    dbPostgresSchema: "local",
    plc: { port: plcPort },
    pds: { ...pds, port: pdsPort, enableDidDocWithSession: true },
    bsky: { port: appviewPort, publicUrl: `http://localhost:${appviewPort}` },
    ozone: { port: ozonePort },
  });
  // createSession allows 30 in five minutes for each identifier and address.
  limited = await TestPds.create({
    ...pds,
    port: limitedPort,
    didPlcUrl: network.plc.url,
    rateLimitsEnabled: true,
  });
  log("network is up");

  const { seed, createAccount } = await import("./seed.mjs");
  const { who, posts, named } = await seed(network.pds.url);
  await network.processAll(30_000);
  const { agent: _, ...dave } = await createAccount(limited.url, "dave");
  const info = {
    pds: network.pds.url,
    appview: network.bsky.url,
    plc: network.plc.url,
    // HTTP Basic admin:admin-pass on com.atproto.admin.*
    adminPassword: "admin-pass",
    // The HS256 key of the session tokens, to mint an expired one.
    jwtSecret: "jwt-secret",
    limited: { pds: limited.url, account: dave },
    accounts: Object.fromEntries(
      Object.entries(who).map(([name, { agent: _, ...account }]) => [name, account]),
    ),
    posts,
    named,
  };
  const file = path.join(folder, "network.json");
  writeFileSync(file, `${JSON.stringify(info, null, 2)}\n`, { mode: 0o600 });
  log(`ready: ${posts.length} posts`);
  process.stdout.write("ready\n");
} catch (error) {
  log(`failed: ${error?.stack ?? error}`);
  await stop(1);
}
