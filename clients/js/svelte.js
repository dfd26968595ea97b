// The Svelte store.
import { current, seed, subscribe } from "./store.js";

export { configure, getCsrfToken, getProviders, getSession, signIn, signOut, submitCode } from "./index.js";

/**
 * Returns a readable store of {data, status, update}, $session in a component.
 * session is the session that a server has read.
 */
export function useSession(session) {
  const first = seed(session);
  return {
    subscribe(run) {
      const inBrowser = typeof document !== "undefined";
      run(inBrowser ? current() : first);
      return subscribe(() => run(current()));
    },
  };
}
