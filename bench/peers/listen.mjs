/** Serves a fetch handler with the runtime's own server, and prints the port. */
export function serve(fetch) {
  if ("Bun" in globalThis) {
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", development: false, fetch });
    console.log(server.port);
  } else {
    const onListen = ({ port }) => console.log(port);
    Deno.serve({ port: 0, hostname: "127.0.0.1", onListen }, fetch);
  }
}
