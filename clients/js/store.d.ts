/** Types that the hooks of all frameworks share. */
import type { Session } from "./client.js";

/**
 * Renews the session, and passes data to the service's callbacks. Resolves to the
 * new session; null without one, and (logged) on failure. Never rejects.
 */
export type Update<S = Session> = (data?: any) => Promise<S | null>;

/** The session as useSession of next-auth/react shows it. */
export type SessionState<S = Session> =
  | { data: S; status: "authenticated"; update: Update<S> }
  | { data: null; status: "unauthenticated"; update: Update<S> }
  | { data: undefined; status: "loading"; update: Update<S> };
