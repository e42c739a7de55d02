/** A browser as a program, for BROWSER: opens the page that it is given, and signs in as alice. */
import process from "node:process";
import { Browser } from "../../support/cookie-browser.ts";

await new Browser({ as_user: "alice" }).visit(process.argv.at(-1)!);
