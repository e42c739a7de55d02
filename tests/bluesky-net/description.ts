/** The network's description, in the file that start.mjs writes. */

export interface BlueskyAccount {
  readonly handle: string;
  readonly did: string;
  readonly email: string;
  /** The main password, which nobody should type anywhere but at their own service. */
  readonly password: string;
  readonly appPassword: string;
  /** An app password that may also read direct messages. */
  readonly privilegedAppPassword: string;
}

export interface PostRef {
  readonly uri: string;
  readonly cid: string;
}

export interface NetworkDescription {
  /** The service where the accounts live, and the OAuth issuer. */
  readonly pds: string;
  readonly appview: string;
  readonly plc: string;
  /** HTTP Basic `admin:…` on com.atproto.admin.* */
  readonly adminPassword: string;
  /** The HS256 key of the PDS's session tokens, to mint one that has expired. */
  readonly jwtSecret: string;
  /**
   * Another PDS, which allows 30 logins in five minutes for each account, and one account there.
   */
  readonly limited: { readonly pds: string; readonly account: BlueskyAccount };
  /** As they were seeded; carol has no profile record. */
  readonly accounts: Readonly<Record<"alice" | "bob" | "carol", BlueskyAccount>>;
  /** Every seeded post, oldest first. */
  readonly posts: readonly (PostRef & { readonly by: string; readonly text: string })[];
  readonly named: Readonly<
    Record<
      | "first"
      | "hashtags"
      | "mentions"
      | "images"
      | "link"
      | "quote"
      | "threadRoot"
      | "quoteOfDeleted",
      PostRef
    >
  >;
}
