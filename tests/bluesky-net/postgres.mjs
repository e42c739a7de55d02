// A temporary PostgreSQL cluster below a folder, as the user `postgres` if we are root. The kernel
// ends it with us, however we end.
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, openSync, readdirSync } from "node:fs";
import path from "node:path";
import process from "node:process";

const INSTALLED = "/usr/lib/postgresql";

export async function startPostgres(folder, port) {
  const bin = newestBin();
  const ids = postgresUser();
  const data = path.join(folder, "pg");
  mkdirSync(data);
  if (ids.uid !== undefined) chownSync(data, ids.uid, ids.gid);
  chmodSync(data, 0o700);
  const base = { ...ids, cwd: data, env: { PATH: process.env.PATH, LC_ALL: "C.UTF-8" } };
  const db = path.join(data, "db");
  const init = spawnSync(
    `${bin}/initdb`,
    ["-D", db, "-U", "bsky", "-A", "trust", "-E", "UTF8", "--no-sync"],
    { ...base, encoding: "utf8" },
  );
  if (init.status !== 0) throw new Error(`initdb failed: ${init.stderr}`);

  const out = openSync(path.join(folder, "postgres.log"), "a");
  const settings = {
    listen_addresses: "127.0.0.1",
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    shared_buffers: "64MB",
    max_connections: "120",
  };
  const args = ["-D", db, "-p", String(port), "-k", data];
  for (const [name, value] of Object.entries(settings)) args.push("-c", `${name}=${value}`);
  const child = spawn("setpriv", ["--pdeathsig", "INT", `${bin}/postgres`, ...args], {
    ...base,
    stdio: ["ignore", out, out],
    // Ctrl-C must reach us first.
    detached: true,
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  for (let tries = 0;; tries++) {
    const ready = spawnSync(`${bin}/pg_isready`, ["-h", "127.0.0.1", "-p", String(port)]);
    if (ready.status === 0) break;
    if (child.exitCode !== null || tries > 300) throw new Error("postgres did not start");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    url: `postgresql://bsky@127.0.0.1:${port}/postgres`,
    async stop() {
      // The fast shutdown: it waits for no client.
      if (child.exitCode === null) child.kill("SIGINT");
      await exited;
    },
  };
}

function newestBin() {
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED) : [];
  const newest = versions.filter((name) => existsSync(`${INSTALLED}/${name}/bin/initdb`))
    .sort((a, b) => b - a)[0];
  if (!newest) throw new Error("Cannot find PostgreSQL: apt-get install -y postgresql");
  return `${INSTALLED}/${newest}/bin`;
}

function postgresUser() {
  if (process.getuid() !== 0) return {};
  const id = (flag) => Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);
  return { uid: id("-u"), gid: id("-g") };
}
