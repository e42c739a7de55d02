/**
 * A Secret Service for one test: Debian's gnome-keyring on a bus of its own, with a home
 * of its own. The keyring of whoever runs the tests is never touched.
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
  /** For programs that are to find it. */
  readonly env: Readonly<Record<string, string>>;
  /** As when the screen is locked; nobody is there to be asked. */
  lock(): Promise<void>;
}

/** `empty`: a service that has no keyring to put anything into, as on a fresh server. */
export type Content = "unlocked" | "empty";

/** It says where the bus is, takes commands, and ends when its stdin does. */
const script = `
if [ "$1" = unlocked ]; then
  printf %s passphrase | gnome-keyring-daemon --unlock --components=secrets >/dev/null
else
  gnome-keyring-daemon --start --components=secrets >/dev/null
fi
echo "bus $DBUS_SESSION_BUS_ADDRESS"
while read -r command; do
  dbus-send --session --print-reply --dest=org.freedesktop.secrets \\
    /org/freedesktop/secrets org.freedesktop.Secret.Service.Lock \\
    array:objpath:/org/freedesktop/secrets/collection/login >/dev/null
  echo "done $?"
done
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
      // No window can be opened, whoever runs this.
      DISPLAY: "",
      WAYLAND_DISPLAY: "",
    };
    const child = spawn("dbus-run-session", ["--", "sh", "-c", script, "sh", content], {
      env: { ...process.env, ...folders },
      stdio: ["pipe", "pipe", "pipe"],
      // So that the daemons, which leave their parent, can be ended with it.
      detached: true,
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
    try {
      const address = yield* until(next(/^bus (.+)$/));
      yield* provide({
        env: { ...folders, DBUS_SESSION_BUS_ADDRESS: address },
        async lock() {
          child.stdin.write("lock\n");
          if (await next(/^done (\d+)$/) !== "0") throw new Error(`Cannot lock:\n${said}`);
        },
      });
    } finally {
      child.stdin.end();
      yield* until(closed);
    }
  });
}
