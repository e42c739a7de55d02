/**
 * Prints which files and functions of `src/` a message passes through, for each of five
 * messages: a plain call of a legacy client, a question to a modern client and the retry
 * that answers it, a retry that revives a durable session after a restart and ends in its
 * next question, and a plain call over stdio.
 *
 *     deno task walks [--files] [--json]
 *
 * Without options, prints two figures for each message. `--files` also lists the files and their
 * functions. `--json` prints the same as JSON, to compare two commits.
 *
 * Only code that runs while the message is handled counts, not the loading of modules. The server
 * has handled such a message before, except that a revived session generates the form of its next
 * question.
 */
import { parseArgs } from "node:util";
import { installDependencies } from "../tests/harness/toolchain.ts";
import { takeWalks, walksTable } from "./kit/walks.ts";

const { values } = parseArgs({
  options: { files: { type: "boolean" }, json: { type: "boolean" } },
});
installDependencies();
const walks = takeWalks();
console.log(values.json ? JSON.stringify(walks, undefined, 2) : walksTable(walks, values.files));
