/** The questions that `login` can ask. */
import type { McpToolContextWithElicits } from "parley-mcp";
import { z } from "zod";

/** The ways to sign in that a person can choose from. */
const ways = {
  oauth: z.literal("oauth").meta({ title: "OAuth, in your browser (recommended)" }),
  page: z.literal("page").meta({ title: "An app password, typed into a page" }),
  form: z.literal("app-password").meta({ title: "An app password, typed in here" }),
};
/** The choices of the form. Only some servers allow the password field. */
export const choices = {
  pages: z.object({ way: z.union([ways.oauth, ways.page]) }),
  all: z.object({ way: z.union([ways.oauth, ways.page, ways.form]) }),
};
const handle = z.string().min(1).meta({ title: "Handle", description: "Such as name.bsky.social" });
const password = z.string().min(1).meta({
  title: "App password",
  description: "Never the main password of the account",
});

/** The person has chosen to type the password into a form: do not open a page instead. */
const FORM = ["form"] as const;

export const questions = {
  way: { response: choices.all },
  handle: { response: z.object({ handle }) },
  password: { response: z.object({ password }), sensitive: ["password"], doors: FORM },
  credentials: {
    response: z.object({ handle, password }),
    sensitive: ["password"],
    doors: FORM,
  },
};
/** The context of the tool `login`. */
export type Context = McpToolContextWithElicits<typeof questions>;
