// The session of this page, which the hooks of all frameworks show. On a server, it
// stores nothing, because the requests of many people share a process.
import { onSessionChange, refreshSession, update } from "./index.js";

const inBrowser = typeof document !== "undefined";
const watchers = new Set();
let state;
let stop; // undoes start

/** Returns the state for a session; undefined: not known yet. */
export function stateOf(session) {
  const status = session === undefined ? "loading" : session ? "authenticated" : "unauthenticated";
  return Object.freeze({ data: session, status, update });
}

const LOADING = stateOf(undefined);

/** Returns the current state: at first the state from hydrate() or seed(). */
export function current() {
  if (!inBrowser) return LOADING;
  return (state ??= stateOf(handedOver()));
}

/**
 * Sets the session that a server has read, for the first render, and returns its
 * state. In the browser, a known session stays. undefined: the server has not read it.
 */
export function seed(session) {
  if (!inBrowser) return stateOf(session);
  if (current().data === undefined && session !== undefined) state = stateOf(session);
  return state;
}

/** Calls watcher after every change. Returns a function that unsubscribes it. */
export function subscribe(watcher) {
  if (!inBrowser) return () => {};
  const entry = () => watcher();
  watchers.add(entry);
  if (watchers.size === 1) start();
  return () => {
    if (watchers.delete(entry) && !watchers.size) stop();
  };
}

function start() {
  const again = stop; // the session may have changed while there were no watchers
  const onVisible = () => document.visibilityState === "visible" && refreshSession();
  const end = onSessionChange(become);
  document.addEventListener("visibilitychange", onVisible);
  stop = () => {
    end();
    document.removeEventListener("visibilitychange", onVisible);
  };
  if (current().data === undefined) read();
  else if (again) refreshSession();
}

// As in next-auth/react, the first reading makes other tabs read theirs. If it fails,
// the person counts as not signed in.
async function read() {
  const session = await refreshSession({ broadcast: true });
  if (session === undefined && state.data === undefined) become(null);
}

function become(session) {
  state = stateOf(session);
  for (const watcher of [...watchers]) watcher();
}

// handedOver returns the session that hydrate() of authsvc-client/server wrote into the page.
function handedOver() {
  try {
    return JSON.parse(document.querySelector('script#authsvc-session[type="application/json"]').textContent);
  } catch {
    // There is none, or hydrate() did not write it.
  }
}
