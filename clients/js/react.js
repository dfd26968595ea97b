"use client";
// The React hook, like useSession of next-auth/react.
import { createContext, createElement, useContext, useState, useSyncExternalStore } from "react";
import { current, seed, stateOf, subscribe } from "./store.js";

export { configure, getCsrfToken, getProviders, getSession, signIn, signOut, submitCode } from "./index.js";

const First = createContext(stateOf(undefined));

/** Passes on the session that a server has read, so that the first render shows it. */
export function SessionProvider({ session, children }) {
  const [first] = useState(() => (seed(session), stateOf(session)));
  return createElement(First.Provider, { value: first }, children);
}

/** Returns {data, status, update}, and renders again when the session changes. */
export function useSession() {
  const first = useContext(First);
  return useSyncExternalStore(subscribe, current, () => first);
}
