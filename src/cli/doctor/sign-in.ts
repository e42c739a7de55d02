/**
 * Checks the information that a client needs to sign in: the challenge, the metadata of the
 * protected resource (RFC 9728), and the metadata of its authorization servers (RFC 8414). Sends no
 * credentials to any of these addresses.
 */
import { decodeJwt } from "jose";
import type { Operation } from "effection";
import type { HeaderLines } from "../../client/http.ts";
import { readChallenge } from "../../client/oauth/challenge.ts";
import { Reach } from "../../client/oauth/reach.ts";
import { isObject } from "../../lib/json.ts";
import type { ClockSeen } from "./clock.ts";
import { type Answer, ask, type Finding, NoAnswer } from "./probe.ts";

interface SignIn {
  readonly findings: readonly Finding[];
  /** The clocks of the authorization servers. */
  readonly clocks: readonly ClockSeen[];
}

type Document = { readonly [name: string]: unknown };

const RESOURCE = "/.well-known/oauth-protected-resource";
/** Servers with more issuers than this are checked in part, so that the checks end in time. */
const MAX_ISSUERS = 3;

/** Checks how clients sign in. `answer` is the server's answer to the first request. */
export function* signInFindings(
  answer: Answer,
  headers: HeaderLines,
  patience: number,
): Operation<SignIn> {
  const { url, status } = answer;
  const challenge = status === 401 ? readChallenge(answer.headers) : undefined;
  const findings: Finding[] = [];
  if (status === 401 && !answer.headers.has("www-authenticate")) {
    findings.push(problem(
      "metadata",
      "The server refuses callers, but does not say where to sign in",
      "let the proxy pass the WWW-Authenticate header through",
    ));
  }
  const named = challenge?.resourceMetadata;
  const found = yield* resourceMetadata(url, named, patience);
  if (typeof found === "string") {
    findings.push(
      status === 401 && named !== undefined
        ? problem(
          "metadata",
          `The metadata of the server cannot be read at ${named}: ${found}`,
          `let the proxy forward ${RESOURCE} and the paths below it to the server, and check --public-url`,
        )
        : skipped(status),
    );
    return { findings, clocks: [] };
  }
  findings.push(...resourceFindings(url, found));
  const clocks: ClockSeen[] = [];
  const reach = new Reach(url.href);
  const issuers = issuersOf(found);
  for (const issuer of issuers.slice(0, MAX_ISSUERS)) {
    findings.push(...(yield* issuerFindings(issuer, reach, patience, clocks)));
  }
  findings.push(...tokenFindings(headers, found, issuers));
  return { findings, clocks };
}

function skipped(status: number): Finding {
  const message = status === 401
    ? "The server has no metadata: it accepts static tokens only"
    : "The server has no metadata, because callers need not sign in";
  return { check: "metadata", status: "skipped", message };
}

// Checks of the metadata of the server, which is the protected resource.

/** The metadata document, or the reason why it cannot be read. */
function* resourceMetadata(
  url: URL,
  named: string | undefined,
  patience: number,
): Operation<Document | string> {
  const path = url.pathname === "/" ? "" : url.pathname;
  const address = named === undefined
    ? new URL(`${RESOURCE}${path}`, url.origin)
    : URL.parse(named);
  if (!address || !new Reach(url.href).isSafe(address)) return "it is not an https address";
  return yield* documentAt(address, patience);
}

function resourceFindings({ origin, pathname }: URL, { resource }: Document): Finding[] {
  const theirs = typeof resource === "string" ? URL.parse(resource) : undefined;
  const folder = (path: string) => path.endsWith("/") ? path : `${path}/`;
  if (theirs?.origin === origin && folder(pathname).startsWith(folder(theirs.pathname))) {
    return [{ check: "audience", status: "ok", message: `Tokens are for ${theirs.href}` }];
  }
  return [problem(
    "audience",
    `The metadata says that the server is at ${
      theirs?.href ?? "no address"
    }, but people use ${origin}${pathname}: clients refuse to sign in`,
    `use --public-url ${origin}`,
  )];
}

function issuersOf({ authorization_servers: listed }: Document): string[] {
  return Array.isArray(listed) ? listed.filter((one) => typeof one === "string") : [];
}

// Checks of the authorization servers.

function* issuerFindings(
  issuer: string,
  reach: Reach,
  patience: number,
  clocks: ClockSeen[],
): Operation<Finding[]> {
  const url = URL.parse(issuer);
  if (!url || !reach.isSafe(url)) {
    return [problem(
      "issuer",
      `The authorization server ${issuer} has no https address`,
      "use an https address with --auth-issuer",
    )];
  }
  const path = url.pathname.replace(/\/$/, "");
  const places = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    `${path}/.well-known/openid-configuration`,
  ];
  let why = "";
  for (const place of new Set(places)) {
    const found = yield* documentAt(new URL(place, url.origin), patience, (answer) => {
      if (!clocks.some(({ who }) => who === issuer)) {
        clocks.push({ who: issuer, ahead: answer.ahead });
      }
    });
    if (typeof found !== "string") return yield* metadataFindings(issuer, found, reach, patience);
    why = found;
    if (/^(?:it did not answer|nothing listens)/.test(why)) break;
  }
  return [problem(
    "issuer",
    `The metadata of the authorization server ${issuer} cannot be read: ${why}`,
    "check --auth-issuer, and whether clients can reach that address",
  )];
}

function* metadataFindings(
  issuer: string,
  document: Document,
  reach: Reach,
  patience: number,
): Operation<Finding[]> {
  const { issuer: theirs, jwks_uri: keys, code_challenge_methods_supported: methods } = document;
  if (theirs !== issuer) {
    return [problem(
      "issuer",
      `The authorization server calls itself ${theirs}, not ${issuer}: clients refuse to sign in`,
      `use --auth-issuer ${theirs}`,
    )];
  }
  const findings: Finding[] = [];
  for (const name of ["authorization_endpoint", "token_endpoint"]) {
    if (typeof document[name] === "string") continue;
    findings.push(problem(
      "issuer",
      `The metadata of ${issuer} has no ${name}: clients cannot sign in`,
      "check the configuration of the authorization server",
    ));
  }
  if (!Array.isArray(methods) || !methods.includes("S256")) {
    findings.push(problem(
      "issuer",
      `The metadata of ${issuer} does not list S256 for PKCE: clients refuse to sign in`,
      "enable PKCE with S256 in the authorization server",
    ));
  }
  const address = typeof keys === "string" ? URL.parse(keys) : undefined;
  if (address && reach.isSafe(address)) {
    const set = yield* documentAt(address, patience);
    if (typeof set === "string" || !Array.isArray(set.keys)) {
      findings.push(problem(
        "issuer",
        `The keys of ${issuer} cannot be read at ${address.href}: ${
          typeof set === "string" ? set : "there are none"
        }`,
        "check the authorization server: without its keys, no token can be verified",
      ));
    }
  }
  if (findings.length > 0) return findings;
  return [{ check: "issuer", status: "ok", message: `People can sign in at ${issuer}` }];
}

// Checks of the token.

/** Checks the claims of the token in the headers. The token itself is never printed. */
function tokenFindings(
  headers: HeaderLines,
  { resource }: Document,
  issuers: readonly string[],
): Finding[] {
  const line = Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization");
  const token = /^(?:Bearer|DPoP) +(\S+)$/i.exec(line?.[1] ?? "")?.[1];
  let claims;
  try {
    claims = token === undefined ? undefined : decodeJwt(token);
  } catch {
    // An opaque token has no claims to compare.
  }
  if (!claims) return [];
  const { iss, aud, exp } = claims;
  const findings: Finding[] = [];
  if (!issuers.includes(String(iss))) {
    findings.push(problem(
      "token",
      "The issuer of the token is not among those of the server",
      `use a token from ${issuers.join(" or ")}`,
    ));
  }
  if (exp !== undefined && exp * 1_000 < Date.now()) {
    findings.push(problem("token", "The token has expired", "get a new token"));
  }
  if (![aud].flat().includes(String(resource))) {
    findings.push({
      check: "token",
      status: "warning",
      message: `The token is not for ${resource}`,
      remedy: "request it for that resource, or name its audience with --auth-audience",
    });
  }
  if (findings.length > 0) return findings;
  return [{ check: "token", status: "ok", message: "The token is for this server" }];
}

// A function that several checks use.

/** The JSON object at an address, or the reason why it cannot be read. */
function* documentAt(
  address: URL,
  patience: number,
  seen: (answer: Answer) => void = () => {},
): Operation<Document | string> {
  try {
    const answer = yield* ask(address, { headers: { accept: "application/json" } }, patience);
    seen(answer);
    if (answer.status !== 200) return `the answer has HTTP status ${answer.status}`;
    return isObject(answer.json) ? answer.json : "it is not a JSON object";
  } catch (error) {
    if (error instanceof NoAnswer) return error.message;
    throw error;
  }
}

function problem(check: string, message: string, remedy: string): Finding {
  return { check, status: "problem", message, remedy };
}
