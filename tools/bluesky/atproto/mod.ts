/** All code that needs the AT Protocol libraries. It is loaded on first use. */
export { signInWithPassword } from "./app-password.ts";
export { asAccount, signOut } from "./as-account.ts";
export { handleOf, isGone, oauthClient, type States } from "./oauth.ts";
