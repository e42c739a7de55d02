/** The server cannot be reached or violates the protocol. The message is one sentence; no stack. */
export class ClientError extends Error {
  override readonly name = "ClientError";
}
