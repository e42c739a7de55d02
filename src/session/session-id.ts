/**
 * The ids of tool sessions.
 *
 * Questions carry the id of their session (`elicit_ID_1`), and reach models as the ids of tool
 * calls, of which providers take at most 40 characters of `[A-Za-z0-9_-]`. With 22 characters
 * for the session, 10 digits are left for the number of the question.
 *
 * All 22 are random here (128 bits). A prefix that names a server may take some of them later:
 * readers must not rely on more than the alphabet and the length. Sessions that were stored
 * before have longer ids, which stay as they are.
 */
import { Buffer } from "node:buffer";

const BYTES = 16;

/** Drawn for many ids at once: drawing takes longer than everything else here. */
const random = new Uint8Array(BYTES * 256);
const bytes = Buffer.from(random.buffer);
let used = random.length;

export function newSessionId(): string {
  if (used === random.length) {
    crypto.getRandomValues(random);
    used = 0;
  }
  const id = bytes.toString("base64url", used, used += BYTES);
  // A command would take an id that begins with a dash for one of its flags.
  return id.startsWith("-") ? `A${id.slice(1)}` : id;
}
