/** Types of authsvc-client/svelte. */
import type { Readable } from "svelte/store";
import type { Session } from "./client.js";
import type { SessionState, Update } from "./store.js";

export type { Session, SessionState, Update };
export { configure, getCsrfToken, getProviders, getSession, signIn, signOut, submitCode } from "./client.js";

/**
 * Returns a readable store of the session. session: the session that a server
 * has read, null: no one is signed in.
 */
export declare function useSession<S = Session>(session?: S | null): Readable<SessionState<S>>;
