/** The schemas of the tools' parameters and results. */
import { z } from "zod";

export const methods = ["oauth", "page", "app-password"] as const;
/** How an account was signed in. A sign-in on a page counts as `app-password`. */
export const method = z.enum(["oauth", "app-password"]);
export type Method = z.infer<typeof method>;

export const account = z.object({
  did: z.string().describe("The account's permanent identifier"),
  handle: z.string(),
  service: z.string().describe("The service that the account signed in to"),
  method,
  default: z.boolean().describe("True if tools use this account when no account is named"),
  signedIn: z.boolean().describe("False if the sign-in was revoked or has expired"),
  mainPassword: z.boolean().describe("True if the main password was used to sign in"),
});
export type Account = z.infer<typeof account>;

/** The signed-in accounts. */
const accounts = z.object({
  accounts: z.array(account),
  default: z.string().optional().describe("The DID of the default account, if there is one"),
  signedIn: z.string().optional().describe("The DID of the account that was just signed in"),
  warning: z.string().optional(),
  link: z.string().optional().describe(
    "A link that the person still has to open in a browser to sign in",
  ),
});
export type Accounts = z.infer<typeof accounts>;

// Some clients show the model only the structured content, so the text is a part of it.
export const accountsResult = z.object({
  message: z.string().describe("The whole result as Markdown, including messages for the person"),
}).extend(accounts.shape);
export type AccountsResult = z.infer<typeof accountsResult>;

const markdown = z.string().describe("The whole result as Markdown");

const author = z.object({
  did: z.string(),
  handle: z.string(),
  displayName: z.string().optional(),
  avatar: z.string().optional(),
  url: z.string(),
});
export type Author = z.infer<typeof author>;

const profile = author.extend({
  description: z.string().optional(),
  banner: z.string().optional(),
  followers: z.int(),
  follows: z.int(),
  posts: z.int(),
  createdAt: z.string().optional(),
  indexedAt: z.string().optional(),
});
export type Profile = z.infer<typeof profile>;
export const profileResult = profile.extend({ markdown });
export type ProfileResult = z.infer<typeof profileResult>;

const facet = z.object({
  type: z.enum(["mention", "link", "tag", "other"]),
  text: z.string().describe("The part of the text that is a link, a mention or a tag"),
  byteStart: z.int(),
  byteEnd: z.int(),
  did: z.string().optional(),
  url: z.string().optional(),
  tag: z.string().optional(),
});
export type Facet = z.infer<typeof facet>;

const embed = z.object({
  type: z.enum(["image", "link", "quote", "video", "other"]),
  url: z.string().optional(),
  thumbnail: z.string().optional(),
  alt: z.string().optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  uri: z.string().optional().describe("The URI of a quoted post"),
  author: author.optional(),
  text: z.string().optional(),
  unavailable: z.string().optional().describe("Why a quoted post is not shown"),
});
export type Embed = z.infer<typeof embed>;

export const post = z.object({
  uri: z.string(),
  cid: z.string(),
  url: z.string(),
  author,
  text: z.string(),
  languages: z.array(z.string()),
  facets: z.array(facet),
  embeds: z.array(embed),
  reply: z.object({
    parent: z.string(),
    parentUrl: z.string(),
    root: z.string(),
  }).optional(),
  counts: z.object({
    replies: z.int(),
    reposts: z.int(),
    likes: z.int(),
    quotes: z.int(),
  }),
  createdAt: z.string().optional(),
  indexedAt: z.string(),
});
export type Post = z.infer<typeof post>;

const found = z.object({
  account: z.string().describe("The handle of the account that was used"),
  query: z.string(),
  posts: z.array(post),
  total: z.int().optional().describe("The total number of posts, if the service reports it"),
  cursor: z.string().optional().describe("Pass this cursor to get the next page"),
});
export type Found = z.infer<typeof found>;
export const searchResult = found.extend({ markdown });
export type SearchResult = z.infer<typeof searchResult>;
