/** `parley token`: creates a token for a program, and adds its hash to a token file. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { newToken } from "../../auth/token-file.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { Environment } from "../environment.ts";
import { Problem, USAGE } from "../problem.ts";

export interface TokenOptions {
  readonly tokenFile: string;
  readonly scope?: readonly string[];
}

export function token(
  name: string,
  { tokenFile, scope = [] }: TokenOptions,
  { terminal }: Environment,
): Promise<number> {
  const { token, line } = created(name, scope);
  try {
    const text = existsSync(tokenFile) ? readFileSync(tokenFile, "utf8") : "";
    if (text.split("\n").some((line) => line.split(/\s/, 1)[0] === name)) {
      throw new Problem(
        `Cannot create a token for "${name}": "${tokenFile}" already has a token with this name; remove its line first, or choose another name`,
        USAGE,
      );
    }
    const start = text === "" || text.endsWith("\n") ? "" : "\n";
    // Only the owner can read the file, although it contains no tokens.
    appendFileSync(tokenFile, `${start}${line}\n`, { mode: 0o600 });
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(
      `Cannot write the token file "${tokenFile}": ${messageOf(error)}; check its permissions`,
    );
  }
  terminal.print(token);
  terminal.note(
    `This is the token of "${name}". It is shown only once; ${tokenFile} holds its hash.`,
  );
  return Promise.resolve(0);
}

function created(name: string, scope: readonly string[]) {
  try {
    return newToken(name, scope);
  } catch (error) {
    throw new Problem(messageOf(error), USAGE);
  }
}
