/** Types of authsvc-client/solid. */
import type { Session } from "./client.js";
import type { SessionState, Update } from "./store.js";

export type { Session, SessionState, Update };
export { configure, getCsrfToken, getProviders, getSession, signIn, signOut, submitCode } from "./client.js";

/**
 * Returns the session, whose members are read reactively, until the owner ends.
 * session: what a server has read, null for nobody.
 */
export declare function useSession<S = Session>(session?: S | null): SessionState<S>;
