import type { ClientInfo } from "../model/events.ts";

/** A caller who says nothing about itself is part of this program, and can answer anything. */
export const IN_PROCESS: ClientInfo = {
  capabilities: {
    elicitation: { form: {}, url: {} },
    sampling: { tools: {} },
    roots: {},
  },
};
