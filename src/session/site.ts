/** Where tools run that no server serves: they can be called, but have no pages. */
import { PageError } from "../errors.ts";
import type { Site } from "../runtime/run-host.ts";

export const inProcess: Site = {
  local: true,
  url: undefined,
  formPasswords: true,
  *open() {
    throw new PageError("this program serves none", "serve the tool, or do without a page");
  },
};
