/** Types of authsvc-client/solid. */
import type { Session } from "./client.js";
import type { SessionState, Update } from "./store.js";

export type { Session, SessionState, Update };
export { configure, getCsrfToken, getProviders, getSession, signIn, signOut, submitCode } from "./client.js";

/**
 * Returns the session with reactive members, until the owner is disposed.
 * session: the session that a server has read, null: no one is signed in.
 */
export declare function useSession<S = Session>(session?: S | null): SessionState<S>;
