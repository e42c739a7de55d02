/** Whether forms may ask for passwords, as the flags say. */
import type { OperatorLog } from "../log.ts";

export interface FormPasswordFlags {
  readonly allowFormPasswords?: boolean;
  /** False where `--no-form-passwords` is given, which former versions needed. */
  readonly formPasswords?: boolean;
}

export function formPasswords(flags: FormPasswordFlags, log: OperatorLog): boolean {
  if (flags.formPasswords === false) {
    log.say(
      "warning",
      "--no-form-passwords has no effect: forms ask for no passwords by default; leave the flag out",
    );
  }
  return flags.allowFormPasswords ?? false;
}
