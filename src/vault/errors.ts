/** Errors of the credential vault, with messages for the owner of the credentials. */
import { ToolError } from "../model/errors.ts";

/** Why the vault cannot be used. */
export type VaultProblem =
  /** The keyring is locked. */
  | "locked"
  /** The keyring cannot be reached or does not work. */
  | "unreachable"
  /** The stored data is damaged. */
  | "damaged"
  /** A newer version of Parley wrote the data. */
  | "newer"
  /** The passphrase is missing or wrong. */
  | "passphrase"
  /** Other users could read the data, or this process cannot. */
  | "permissions"
  /** Another process holds the lock. */
  | "busy"
  /** The disk is full, broken or read-only. */
  | "disk";

/** An error of the vault. The message is shown to the caller, and never contains a secret. */
export class VaultError extends ToolError {
  override readonly name = "VaultError";
  constructor(readonly problem: VaultProblem, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}
