// The Vue composable.
import { computed, getCurrentScope, onScopeDispose, shallowRef } from "vue";
import { seed, current, subscribe } from "./store.js";

export { configure, getCsrfToken, getProviders, getSession, signIn, signOut, submitCode } from "./index.js";

/**
 * Returns {data, status, update}, the first two as refs that follow the session
 * until the component or the scope ends. session is the session that a server
 * has read.
 */
export function useSession(session) {
  const state = shallowRef(seed(session));
  const end = subscribe(() => (state.value = current()));
  if (getCurrentScope()) onScopeDispose(end);
  return {
    data: computed(() => state.value.data),
    status: computed(() => state.value.status),
    update: state.value.update,
  };
}
