/** Opens connections and holds them until it is killed: crowd.ts PORT COUNT TEXT */
import process from "node:process";
import { connect } from "node:net";

const [port, count, says] = process.argv.slice(2);
/** How many connections to open at once. More would overflow the listener's queue. */
const GROUP = 200;

for (let opened = 0; opened < Number(count); opened += GROUP) {
  await Promise.all(
    Array.from(
      { length: Math.min(GROUP, Number(count) - opened) },
      () =>
        new Promise<void>((resolve) => {
          const socket = connect(Number(port), "127.0.0.1");
          const done = () => resolve();
          socket.once("connect", () => {
            if (says) {
              socket.write(says);
            }
            done();
          });
          socket.on("error", done);
          socket.resume();
        }),
    ),
  );
}
console.log("ready");
setInterval(() => {}, 60_000);
