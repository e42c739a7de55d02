/**
 * Turns the errors of validators into messages. A `Finding` is the common form of the errors of all
 * three validators (Zod 4, Zod 3, JSON Schema), so that they describe the same mistake in the same
 * words.
 */
import type { ParseOutcome, SchemaIssue } from "./types.ts";
import { NO_FORM_FITS, REQUIRED, wrongKind } from "./wording.ts";

/** An error in a value. `path` leads to the invalid part. */
export interface Finding {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** The name of the expected type. Present only if the value has the wrong type. */
  readonly wanted?: string;
  /** True if the value must be one of a fixed set, such as the tag of a union. */
  readonly isChoice?: boolean;
}

type Refusal = Extract<ParseOutcome<never>, { ok: false }>;

/**
 * The maximum number of issues for one value. Otherwise a hostile list of a million invalid items
 * would cause a million messages.
 */
export const MAX_ISSUES = 100;
const MAX_DESCRIBED = 5;
const MAX_PATH_LENGTH = 120;

/** Returns the parse outcome for a value with these findings. */
export function refused(findings: readonly Finding[]): Refusal {
  const seen = new Set<string>();
  const issues: SchemaIssue[] = [];
  for (const { path, message } of findings) {
    const issue = {
      path: formatPath(path),
      message: path.length === 0 && message === REQUIRED ? "a value is required" : message,
    };
    const key = `${issue.path}\n${issue.message}`;
    if (seen.has(key)) continue;
    seen.add(key);
    if (issues.push(issue) === MAX_ISSUES) break;
  }
  return { ok: false, issues };
}

/** Returns the parse outcome for a value that the schema failed to check. */
export function unchecked(cause: unknown, why?: string): Refusal {
  const reason = why ??
    (cause instanceof RangeError
      ? "it is too large or too deeply nested"
      : "its schema threw an error");
  return { ok: false, issues: [{ path: "", message: `could not be checked: ${reason}` }], cause };
}

/**
 * Returns the findings for a value that fits no branch of a union. If the value was clearly meant
 * for one branch, these are the findings of that branch. Otherwise they say what all branches
 * expect.
 */
export function settle(
  branches: readonly (readonly Finding[])[],
  path: readonly PropertyKey[],
  received: string,
): readonly Finding[] {
  const depth = path.length;
  const mismatch = (branch: readonly Finding[]) =>
    branch.find((it) => it.wanted !== undefined && it.path.length === depth);
  const near = branches.filter((branch) => !mismatch(branch));
  if (near.length > 0 || branches.length === 0) {
    // The value was meant for the branch that accepts its tag.
    const meant = near.filter((branch) =>
      !branch.some((it) => it.isChoice && it.path.length === depth + 1)
    );
    const [found, ...more] = near.length === 1 ? near : meant;
    return found && more.length === 0 ? found : [{ path, message: NO_FORM_FITS }];
  }
  const wanted = [...new Set(branches.map((branch) => mismatch(branch)?.wanted))].join(" or ");
  // If all branches are fixed choices, the type of the value is seldom the mistake: do not mention
  // it.
  const isChoice = received !== "nothing" && branches.every((branch) => mismatch(branch)?.isChoice);
  const message = isChoice ? `expected ${wanted}` : wrongKind(wanted, received);
  return [{ path, message, wanted, isChoice }];
}

/** Describes the issues for the model in one sentence that names each field and its problem. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  const told = issues.slice(0, MAX_DESCRIBED).map(({ path, message }) =>
    path === "" ? message : `"${shorten(path)}": ${message}`
  );
  const rest = issues.length - told.length;
  return rest > 0 ? `${told.join("; ")}; and ${rest} more` : told.join("; ");
}

function formatPath(path: readonly PropertyKey[]): string {
  let formatted = "";
  for (const part of path) {
    if (typeof part === "number") formatted += `[${part}]`;
    else if (/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(String(part))) {
      formatted += formatted === "" ? String(part) : `.${String(part)}`;
    } // Quote names that come from the client, so that they cannot be read as anything else.
    else formatted += `[${JSON.stringify(String(part))}]`;
  }
  return formatted;
}

function shorten(path: string): string {
  return path.length > MAX_PATH_LENGTH ? `${path.slice(0, MAX_PATH_LENGTH)}…` : path;
}
