/** What can be wrong with a place for credentials, in words for the person whose they are. */
import { ToolError } from "parley-mcp";

export type VaultProblem =
  /** The keyring wants to be unlocked. */
  | "locked"
  /** The keyring cannot be reached, or does not do what it is told. */
  | "unreachable"
  /** What was stored is not what was written. */
  | "damaged"
  /** A later Parley wrote it. */
  | "newer"
  /** The passphrase is missing or wrong. */
  | "passphrase"
  /** Others could read it, or we cannot. */
  | "permissions"
  /** Another process does not let go. */
  | "busy"
  /** The disk is full, broken or read-only. */
  | "disk";

/** Thrown from a tool, it ends the call with its message; that never has a secret in it. */
export class VaultError extends ToolError {
  override readonly name = "VaultError";
  constructor(readonly problem: VaultProblem, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}
