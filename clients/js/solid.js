// The primitive of Solid.
import { createSignal, getOwner, onCleanup } from "solid-js";
import { current, seed, subscribe } from "./store.js";

export { configure, getCsrfToken, getProviders, getSession, signIn, signOut, submitCode } from "./index.js";

/**
 * Returns {data, status, update}, whose members are read reactively, until the
 * owner ends. session is what a server has read.
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
