/** The flags that decide whether forms may ask for passwords. */
import type { OperatorLog } from "../log.ts";

export interface FormPasswordFlags {
  readonly allowFormPasswords?: boolean;
  /** False if `--no-form-passwords` is given. The flag no longer has an effect. */
  readonly formPasswords?: boolean;
}

export function formPasswords(flags: FormPasswordFlags, log: OperatorLog): boolean {
  if (flags.formPasswords === false) {
    log.say(
      "warning",
      "--no-form-passwords has no effect: forms do not ask for passwords by default; remove the flag",
    );
  }
  return flags.allowFormPasswords ?? false;
}
