/** Types of authsvc-client/react. */
import type { FunctionComponent, ReactNode } from "react";
import type { Session } from "./client.js";
import type { SessionState, Update } from "./store.js";

export type { Session, SessionState, Update };
export { configure, getCsrfToken, getProviders, getSession, signIn, signOut, submitCode } from "./client.js";

/** What {@link SessionProvider} takes. */
export interface SessionProviderProps {
  /** What a server has read: the session, or null for nobody. */
  session?: object | null;
  children?: ReactNode;
}

/**
 * Hands on the session that a server has read, so that the first render shows
 * it. Only needed for that.
 */
export declare function SessionProvider(props: SessionProviderProps): ReturnType<FunctionComponent>;

/**
 * Returns the session and renders again when it changes: when this tab or
 * another one signs in, signs out or updates, and when the tab is looked at.
 */
export declare function useSession<S = Session>(): SessionState<S>;
