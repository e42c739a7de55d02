/**
 * From what a validator found to what is told. A `Finding` is the common form
 * of the three validators' issues; alternatives are settled on findings, so
 * that a union reads the same in all three.
 */
import type { ParseOutcome, SchemaIssue } from "./types.ts";
import { NO_FORM_FITS, REQUIRED, wrongKind } from "./wording.ts";

/** Something found wrong, still with its path in parts. */
export interface Finding {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** What would have fitted, as a noun, where the value is the wrong thing altogether. */
  readonly wanted?: string;
  /** True where it had to be one of certain values, as the tag of a union has to be. */
  readonly isChoice?: boolean;
}

type Refusal = Extract<ParseOutcome<never>, { ok: false }>;

/** A hostile list of a million wrong items must not become a million strings. */
export const MOST_ISSUES = 100;
const MOST_TOLD = 5;
const LONGEST_PATH = 120;

/** The outcome for a value with these findings. */
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
    if (issues.push(issue) === MOST_ISSUES) break;
  }
  return { ok: false, issues };
}

/** The outcome for a value that the schema could not get through. */
export function unchecked(cause: unknown, why?: string): Refusal {
  const reason = why ??
    (cause instanceof RangeError
      ? "it is too large or too deeply nested"
      : "its schema threw an error");
  return { ok: false, issues: [{ path: "", message: `could not be checked: ${reason}` }], cause };
}

/**
 * The findings to tell of a value that fits none of several branches: those of
 * the one branch that was evidently meant, or else what all of them wanted.
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
    // Only the branch that was meant has no quarrel with the tag.
    const meant = near.filter((branch) =>
      !branch.some((it) => it.isChoice && it.path.length === depth + 1)
    );
    const [found, ...more] = near.length === 1 ? near : meant;
    return found && more.length === 0 ? found : [{ path, message: NO_FORM_FITS }];
  }
  const wanted = [...new Set(branches.map((branch) => mismatch(branch)?.wanted))].join(" or ");
  // Of a choice the kind is seldom what is wrong.
  const isChoice = received !== "nothing" && branches.every((branch) => mismatch(branch)?.isChoice);
  const message = isChoice ? `expected ${wanted}` : wrongKind(wanted, received);
  return [{ path, message, wanted, isChoice }];
}

/** One sentence for the model that names each field and what is wrong with it. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  const told = issues.slice(0, MOST_TOLD).map(({ path, message }) =>
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
    } // Names come from the client: quoted, they cannot pass for anything but a name.
    else formatted += `[${JSON.stringify(String(part))}]`;
  }
  return formatted;
}

function shorten(path: string): string {
  return path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path;
}
