/** `parley doctor`: checks an installation, and says what to do about each finding. */
import process from "node:process";
import { readFileSync } from "node:fs";
import { type Operation, until } from "effection";
import { messageOf } from "../../lib/message-of.ts";
import { type Trust, useTrust } from "../../platform/trust.ts";
import { localFindings } from "../doctor/local.ts";
import type { Finding } from "../doctor/probe.ts";
import { examineServer } from "../doctor/remote.ts";
import { signInFinding, signInsFinding } from "../doctor/sign-ins.ts";
import type { Environment } from "../environment.ts";
import { FAILED, Problem, USAGE } from "../problem.ts";
import type { Style } from "../terminal/style.ts";
import { visible, visibleJson } from "../terminal/visible.ts";
import { headersIn, serverAddress } from "./remote-server.ts";

export interface DoctorOptions {
  readonly header?: readonly string[];
  readonly origin?: string;
  readonly caFile?: string;
  readonly store?: string;
  readonly tokenFile?: string;
  /** Comes from a config file or the environment, like the fields below. */
  readonly authClientSecretFile?: string;
  readonly ownModel?: string;
  readonly modelUrl?: string;
  readonly modelKeyFile?: string;
  readonly json?: boolean;
}

export function* doctor(
  url: string | undefined,
  options: DoctorOptions,
  environment: Environment,
): Operation<number> {
  const { terminal, version } = environment;
  const { json = false } = options;
  const findings: Finding[] = [];
  const report = (...found: readonly Finding[]) => {
    findings.push(...found);
    if (!json) { for (const finding of found) terminal.print(line(finding, terminal.out)); }
  };
  if (url === undefined) {
    const { store, tokenFile, authClientSecretFile, ownModel, modelUrl, modelKeyFile } = options;
    const secretFiles = [tokenFile, authClientSecretFile, modelKeyFile].filter((file) =>
      file !== undefined
    );
    const model = { model: ownModel, modelUrl, modelKeyFile };
    report(...localFindings({ version, store, secretFiles, model, env: process.env }));
    report(yield* until(signInsFinding()));
  } else {
    const { header = [], origin, caFile } = options;
    const address = withoutSecrets(url);
    const given = headersIn(header);
    const trust = caFile === undefined ? undefined : yield* useTrustIn(caFile);
    const isSignedIn = Object.keys(given).some((name) => name.toLowerCase() === "authorization");
    const { finding, bearer } = isSignedIn
      ? { finding: undefined, bearer: undefined }
      : yield* until(signInFinding(address.href));
    if (finding) report(finding);
    const headers = bearer === undefined ? given : { ...given, authorization: `Bearer ${bearer}` };
    yield* examineServer({ url: address, headers, origin, version, trust }, report);
  }
  const problems = findings.filter(({ status }) => status === "problem").length;
  const ok = problems === 0;
  if (json) terminal.print(visibleJson({ ok, findings }, 2));
  else {terminal.print(
      ok ? "No problems." : problems === 1 ? "1 problem." : `${problems} problems.`,
    );}
  return ok ? 0 : FAILED;
}

/** Trusts the certificates of `--ca-file`. */
function* useTrustIn(file: string): Operation<Trust> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Problem(`Cannot read the certificates: ${messageOf(error)}; check --ca-file`, USAGE);
  }
  if (!text.includes("-----BEGIN CERTIFICATE-----")) {
    throw new Problem(
      `Cannot use the certificates in "${file}": there are none; write them in PEM form`,
      USAGE,
    );
  }
  const trust = yield* useTrust(text);
  if (trust) return trust;
  throw new Problem(
    "Cannot use --ca-file: this runtime does not support it; set NODE_EXTRA_CA_CERTS to the path of the file",
    USAGE,
  );
}

/** Throws if the URL contains a password, because findings contain the URL. */
function withoutSecrets(text: string): URL {
  const url = new URL(serverAddress(text));
  if (url.username === "" && url.password === "") return url;
  throw new Problem(
    "Cannot check the server: its URL contains a password; pass the credentials with --header instead",
    USAGE,
  );
}

function line({ check, status, message, remedy }: Finding, style: Style): string {
  const paint = { ok: style.green, warning: style.yellow, problem: style.red, skipped: style.dim };
  const mark = paint[status](status.padEnd(8));
  const next = remedy === undefined ? "" : `\n${" ".repeat(10)}${style.bold("→")} ${remedy}`;
  return `${mark}  ${style.bold(check)}: ${visible(message)}.${visible(next)}`;
}
