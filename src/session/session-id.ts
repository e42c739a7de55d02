/** The ids of tool sessions. */
import { Buffer } from "node:buffer";

/** 22 characters of 6 bits have more random bits than a UUID. */
const ID_LENGTH = 22;

/**
 * Random characters for several ids. Generating each id separately would be slow. An id may keep
 * the whole text in memory, so the text is short.
 */
const random = new Uint8Array(24 * ID_LENGTH);
const randomBytes = Buffer.from(random.buffer);
let characters = "";
let used = 0;

/**
 * Returns 22 random characters of `[A-Za-z0-9_-]`. The id of a question contains the id of its
 * session (`elicit_ID_1`). Models receive it as the id of a tool call, and some providers accept at
 * most 40 characters. Stored sessions of earlier versions may have longer ids.
 */
export function newSessionId(): string {
  if (used === characters.length) {
    crypto.getRandomValues(random);
    characters = randomBytes.toString("base64url");
    used = 0;
  }
  const id = characters.slice(used, used += ID_LENGTH);
  // On a command line, an id that starts with a dash would look like a flag.
  return id.startsWith("-") ? `A${id.slice(1)}` : id;
}
