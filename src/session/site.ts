/** Where tools run that no server serves: they can be called, but have no pages. */
import { PageError } from "../model/errors.ts";
import type { Site } from "../run/run-port.ts";

export const inProcess: Site = {
  local: true,
  url: undefined,
  // No client is in between.
  formPasswords: true,
  *open() {
    throw new PageError("this program serves none", "serve the tool, or do without a page");
  },
};
