/** Types of authsvc-client/vue. */
import type { ComputedRef } from "vue";
import type { Session } from "./client.js";
import type { SessionState, Update } from "./store.js";

export type { Session, SessionState, Update };
export { configure, getCsrfToken, getProviders, getSession, signIn, signOut, submitCode } from "./client.js";

/**
 * Returns the session as refs that follow it until the component or the effect
 * scope ends. session: the session that a server has read, null: no one is signed in.
 */
export declare function useSession<S = Session>(session?: S | null): {
  data: ComputedRef<S | null | undefined>;
  status: ComputedRef<SessionState["status"]>;
  update: Update<S>;
};
