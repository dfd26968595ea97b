// The session of this page, which the hooks of all frameworks show. On a server
// it holds nothing: many people's requests share a process.
import { onSessionChange, refreshSession, update } from "./index.js";

const inBrowser = typeof document !== "undefined";
const watchers = new Set();
let state;
let stop; // what start began

/** Returns the state that a session makes; undefined: not known yet. */
export function stateOf(session) {
  const status = session === undefined ? "loading" : session ? "authenticated" : "unauthenticated";
  return Object.freeze({ data: session, status, update });
}

const LOADING = stateOf(undefined);

/** Returns the state now: at first what hydrate() or seed() left. */
export function current() {
  if (!inBrowser) return LOADING;
  return (state ??= stateOf(handedOver()));
}

/**
 * Says what a server knew of the session, for the first render, and returns its
 * state; in the browser what is known already counts. undefined: nothing.
 */
export function seed(session) {
  if (!inBrowser) return stateOf(session);
  if (current().data === undefined && session !== undefined) state = stateOf(session);
  return state;
}

/** Calls watcher after every change. Returns a function that ends it. */
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
  const again = stop; // it may have changed while nobody was watching
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

// As in next-auth/react, the first reading has other tabs read theirs, and counts
// as nobody if it fails.
async function read() {
  const session = await refreshSession({ broadcast: true });
  if (session === undefined && state.data === undefined) become(null);
}

function become(session) {
  state = stateOf(session);
  for (const watcher of [...watchers]) watcher();
}

// What hydrate() of authsvc-client/server wrote into the page.
function handedOver() {
  try {
    return JSON.parse(document.querySelector('script#authsvc-session[type="application/json"]').textContent);
  } catch {
    // There is none, or it is not ours.
  }
}
