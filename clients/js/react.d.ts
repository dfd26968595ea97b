/** Types of authsvc-client/react. */
import type { FunctionComponent, ReactNode } from "react";
import type { Session } from "./client.js";
import type { SessionState, Update } from "./store.js";

export type { Session, SessionState, Update };
export { configure, getCsrfToken, getProviders, getSession, signIn, signOut, submitCode } from "./client.js";

/** The props of {@link SessionProvider}. */
export interface SessionProviderProps {
  /** The session that a server has read; null: no one is signed in. */
  session?: object | null;
  children?: ReactNode;
}

/**
 * Passes on the session that a server has read, so that the first render shows
 * it. You need it only for that.
 */
export declare function SessionProvider(props: SessionProviderProps): ReturnType<FunctionComponent>;

/**
 * Returns the session and renders again when it changes: when this tab or
 * another one signs in, signs out or updates, and when the tab becomes visible.
 */
export declare function useSession<S = Session>(): SessionState<S>;
