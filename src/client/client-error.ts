/**
 * The server cannot be reached or violates the protocol. The command line prints the message
 * without a stack.
 */
export class ClientError extends Error {
  override readonly name = "ClientError";
}
