/** The ids of tool sessions. */
import { Buffer } from "node:buffer";

const ID_BYTES = 16;

/** Random bytes for many ids. Generating bytes for each id separately would be slow. */
const random = new Uint8Array(ID_BYTES * 256);
const randomBytes = Buffer.from(random.buffer);
let used = random.length;

/**
 * Returns 22 random characters of `[A-Za-z0-9_-]`. The id of a question contains the id of its
 * session (`elicit_ID_1`). Models receive it as the id of a tool call, and some providers accept at
 * most 40 characters. Stored sessions of earlier versions may have longer ids.
 */
export function newSessionId(): string {
  if (used === random.length) {
    crypto.getRandomValues(random);
    used = 0;
  }
  const id = randomBytes.toString("base64url", used, used += ID_BYTES);
  // On a command line, an id that starts with a dash would look like a flag.
  return id.startsWith("-") ? `A${id.slice(1)}` : id;
}
