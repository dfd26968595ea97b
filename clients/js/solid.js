// The Solid primitive.
import { createSignal, getOwner, onCleanup } from "solid-js";
import { current, seed, subscribe } from "./store.js";

export { configure, getCsrfToken, getProviders, getSession, signIn, signOut, submitCode } from "./index.js";

/**
 * Returns {data, status, update} with reactive members, until the owner is
 * disposed. session is the session that a server has read.
 */
export function useSession(session) {
  const [state, setState] = createSignal(seed(session));
  const end = subscribe(() => setState(current()));
  if (getOwner()) onCleanup(end);
  return {
    get data() {
      return state().data;
    },
    get status() {
      return state().status;
    },
    update: state().update,
  };
}
