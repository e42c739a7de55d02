/**
 * Stands in for the addresses that pages use as examples: a real authorization server on loopback,
 * and a port of this machine for the server of the page. A browser signs in as alice.
 */
import { type Operation, until } from "effection";
import { freePort } from "../docs/free-port.ts";
import { useAuthorizationServer } from "./authorization-server.ts";
import { browserCommand } from "./browser-command.ts";
import type { Way } from "./follow.ts";

const ISSUER = "https://login.example.com";
const SERVER = "https://tools.example.com";

export interface ExampleSite {
  /** The way to follow commands. */
  readonly way: Way;
  /** What the authorization server was asked, as `METHOD /path`. */
  readonly requests: readonly string[];
}

/** Nothing is started unless the commands use the addresses. */
export function* useExampleSite(lines: readonly string[], way: Way): Operation<ExampleSite> {
  if (!lines.some((line) => line.includes(ISSUER))) return { way, requests: [] };
  const port = yield* until(freePort());
  const server = `http://127.0.0.1:${port}`;
  const { issuer, requests } = yield* useAuthorizationServer({
    resources: () => [`${server}/mcp`],
  });
  const env = {
    ...way.env,
    PORT: String(port),
    BROWSER: browserCommand(),
    // There is nobody to unlock a keyring.
    PARLEY_KEYRING: "off",
  };
  const instead = (line: string) =>
    (way.instead?.(line) ?? line).replaceAll(ISSUER, issuer).replaceAll(SERVER, server);
  return { way: { ...way, env, instead }, requests };
}
