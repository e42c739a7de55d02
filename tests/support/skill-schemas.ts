/** The results of the skills extension (SEP-2640), as its specification defines them. */
import { z } from "zod";

const skill = z.strictObject({
  uri: z.string().regex(/^skill:\/\/.+\/SKILL\.md$/),
  frontmatter: z.looseObject({ name: z.string(), description: z.string() }),
  resources: z.array(z.strictObject({
    uri: z.string().startsWith("skill://"),
    digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
    size: z.int().nonnegative(),
  })).min(1).max(512),
});

export const skillResults = {
  "skills/list": z.strictObject({ skills: z.array(skill), nextCursor: z.string().optional() }),
  "skills/get": z.strictObject({ skill }),
  "resources/directory/read": z.strictObject({
    resources: z.array(z.strictObject({
      uri: z.string().startsWith("skill://"),
      name: z.string(),
      mimeType: z.string(),
      size: z.int().nonnegative().optional(),
    })),
    nextCursor: z.string().optional(),
  }),
};
