/**
 * A Secret Service for one test: Debian's gnome-keyring on its own bus, with its own home folder.
 * The keyring of the person who runs the tests is never touched.
 */
import { type Operation, resource, until } from "effection";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { useFolder } from "./folder.ts";

export interface SecretService {
  /** The environment for programs that are to find it. */
  readonly env: Readonly<Record<string, string>>;
  /** As when the screen is locked, with nobody to ask. */
  lock(): Promise<void>;
  /** As when the person has logged in again. */
  unlock(): Promise<void>;
}

/** `empty`: a service that has no keyring to write to, as on a fresh server. */
export type Content = "unlocked" | "empty";

/** It prints the bus address, takes commands, and ends when its stdin does. */
const script = `
lock() {
  dbus-send --session --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets \\
    org.freedesktop.Secret.Service.Lock \\
    array:objpath:/org/freedesktop/secrets/collection/login
}
unlock() { stop; start --unlock; }
is_there() {
  dbus-send --session --print-reply --dest=org.freedesktop.DBus /org/freedesktop/DBus \\
    org.freedesktop.DBus.NameHasOwner string:org.freedesktop.secrets | grep -q true
}
start() {
  printf %s passphrase | gnome-keyring-daemon --foreground --components=secrets $1 >/dev/null &
  daemon=$!
  # By its own name, and not by asking it: that would start another.
  until is_there; do sleep 0.02; done
}
stop() { kill $daemon; wait $daemon; }
[ "$1" = unlocked ] && how=--unlock
start $how
echo "bus $DBUS_SESSION_BUS_ADDRESS"
while read -r command; do
  $command >/dev/null
  echo "done $?"
done
stop
`;

export function useSecretService(content: Content = "unlocked"): Operation<SecretService> {
  return resource(function* (provide) {
    const home = yield* useFolder();
    const run = join(home, "run");
    mkdirSync(run, { mode: 0o700 });
    const folders = {
      HOME: home,
      XDG_RUNTIME_DIR: run,
      XDG_DATA_HOME: join(home, "data"),
      XDG_CONFIG_HOME: join(home, "config"),
      XDG_CACHE_HOME: join(home, "cache"),
      // No window can be opened, no matter who runs the tests.
      DISPLAY: "",
      WAYLAND_DISPLAY: "",
    };
    const child = spawn("dbus-run-session", ["--", "sh", "-c", script, "sh", content], {
      env: { ...process.env, ...folders },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const closed = once(child, "exit");
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text) => said += text);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async (pattern: RegExp): Promise<string> => {
      const { value, done } = await lines.next();
      const found = done ? undefined : pattern.exec(value)?.[1];
      if (found === undefined) throw new Error(`The Secret Service said ${value}:\n${said}`);
      return found;
    };
    const order = async (command: string) => {
      child.stdin.write(`${command}\n`);
      if (await next(/^done (\d+)$/) !== "0") throw new Error(`Cannot ${command}:\n${said}`);
    };
    try {
      const address = yield* until(next(/^bus (.+)$/));
      yield* provide({
        env: { ...folders, DBUS_SESSION_BUS_ADDRESS: address },
        lock: () => order("lock"),
        unlock: () => order("unlock"),
      });
    } finally {
      child.stdin.end();
      yield* until(closed);
    }
  });
}
