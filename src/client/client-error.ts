/** A server could not be reached, or did not do as the protocol says. One sentence, and no stack. */
export class ClientError extends Error {
  override readonly name = "ClientError";
}
