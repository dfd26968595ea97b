/**
 * The browser client of authsvc: next-auth/react (v4) without React. The
 * service serves it at {base}/client.js. client.d.ts has the types.
 */

const DEFAULT_PATH = "/api/auth";
const HTTP = /^https?:$/;
// The key of next-auth/react: tabs with either client notify each other.
const STORAGE_KEY = "nextauth.message";

const moduleBase = baseOfModule(import.meta.url);
const listeners = new Set();
let base = moduleBase;
let readings = 0;
let tokens = new Map(); // by audience
let holder; // the user of the last reading

export { base }; // for account.js

/**
 * Sets the address of the service: baseUrl, an http(s) URL whose path, if any,
 * replaces /api/auth; basePath, a path there or on this origin.
 * Default: where this module came from. Throws TypeError.
 */
export function configure({ baseUrl, basePath } = {}) {
  if (basePath !== undefined && !/^(\/[^/\\\s?#]+)+\/?$/.test(basePath)) {
    throw new TypeError("authsvc: basePath must be a path");
  }
  if (baseUrl === undefined) {
    base = basePath?.replace(/\/$/, "") ?? moduleBase;
    return;
  }
  const { protocol, origin, pathname } = new URL(baseUrl);
  if (!HTTP.test(protocol)) throw new TypeError("authsvc: baseUrl must be an http(s) URL");
  const path = basePath ?? (pathname === "/" ? DEFAULT_PATH : pathname);
  base = origin + path.replace(/\/$/, "");
}

/** Returns the session. Unless broadcast is false, other tabs read theirs. */
export async function getSession({ broadcast = true } = {}) {
  const session = (await readSession()) ?? null;
  if (broadcast) announce("getSession");
  return session;
}

/** Returns the token that every POST needs; undefined on failure (logged). */
export async function getCsrfToken() {
  return (await read("csrf"))?.csrfToken;
}

/** Returns the providers by id. null: none, or a failure (logged). */
export async function getProviders() {
  return (await read("providers")) ?? null;
}

/**
 * Signs in. Goes to the sign-in page if provider is unknown, and to {base}/error
 * if the providers cannot be read. options: callbackUrl, redirect, form fields.
 * Returns undefined when leaving, else {error, status, ok, url}.
 */
export async function signIn(provider, options, authorizationParams) {
  const { callbackUrl = location.href, redirect = true } = options ?? {};
  const providers = await getProviders();
  if (!providers) return navigate(`${base}/error`);
  if (!provider || !Object.hasOwn(providers, provider)) {
    // The sign-in page may be the page that called this.
    if (typeof provider === "string") console.warn(`authsvc: no provider "${provider}"; known: ${Object.keys(providers).join(", ")}`);
    return navigate(`${base}/signin?${new URLSearchParams({ callbackUrl })}`);
  }

  const { type } = providers[provider];
  // A mailed code completes what signIn with the address alone began.
  const proves = type === "credentials" || (type === "email" && options?.code != null);
  const action = proves ? "callback" : "signin";
  const query = authorizationParams ? `?${new URLSearchParams(authorizationParams)}` : "";
  const path = `${action}/${encodeURIComponent(provider)}${query}`;
  const response = await submit(path, { ...options, callbackUrl });
  const data = await response.json();
  if (redirect || (type !== "credentials" && type !== "email")) {
    return navigate(destination(data, callbackUrl));
  }

  const result = signInResponse(response, data);
  if (result.ok && !result.error && proves) changed("getSession");
  if (result.ok) await tellListeners();
  return result;
}

/** Signs in with the code of the mail that signIn(provider, {email}) requested. */
export function submitCode(email, code, { provider = "email", ...options } = {}) {
  return signIn(provider, { ...options, email, code });
}

/** Signs out and tells other tabs. Returns undefined when leaving, else {url}. */
export async function signOut(options) {
  const { callbackUrl = location.href, redirect = true } = options ?? {};
  const response = await submit("signout", { callbackUrl });
  const data = await response.json();
  changed("signout");
  if (redirect) return navigate(destination(data, callbackUrl));
  await tellListeners();
  return data;
}

/** Passes data to the service's callbacks, and returns the renewed session. */
export async function update(data) {
  const session = await post("session", { data });
  if (!session) return null;
  changed("getSession");
  readings++; // readings in progress are older
  tell(session);
  return session;
}

/**
 * Returns a token for another back end of the application, audience, to send as
 * Authorization: Bearer; undefined on failure (logged). It is kept until a minute
 * before it expires, or until a sign-in, a sign-out or a change of tabs.
 */
export async function getToken(audience) {
  addEventListener("storage", onStorage);
  addEventListener("visibilitychange", dropTokens);
  let held = tokens.get(audience);
  if (!held || Date.now() >= held.until) tokens.set(audience, (held = mint(audience)));
  return held.token;
}

/**
 * Calls listener with the session (null: none) when another tab says it may
 * have changed, and after update, signIn and signOut here. Returns a function
 * that ends it. A listener must not call getSession(): tabs would loop.
 */
export function onSessionChange(listener) {
  const entry = (session) => listener(session); // one function may subscribe twice
  if (!listeners.size) addEventListener("storage", onStorage);
  listeners.add(entry);
  return () => {
    listeners.delete(entry);
    if (!listeners.size && !tokens.size) removeEventListener("storage", onStorage);
  };
}

/**
 * Reads the session again and calls the listeners of onSessionChange; with
 * broadcast, other tabs do so too. On failure, it calls no listener and returns
 * undefined (logged).
 */
export async function refreshSession({ broadcast = false } = {}) {
  const turn = ++readings;
  const session = await readSession();
  if (broadcast) announce("getSession");
  // A failure is not "signed out"; only the newest reading counts.
  if (session !== undefined && turn === readings) tell(session);
  return session;
}

function baseOfModule(moduleUrl) {
  if (!moduleUrl) return DEFAULT_PATH; // bundled as a classic script
  const { protocol, origin, pathname } = new URL(moduleUrl);
  const path = pathname.match(/^(\/.+)\/client\.js$/)?.[1];
  return path && HTTP.test(protocol) ? origin + path : DEFAULT_PATH;
}

async function send(path, init) {
  const url = new URL(`${base}/${path}`, location.href);
  const credentials = url.origin === location.origin ? "same-origin" : "include";
  return fetch(url.href, { ...init, credentials });
}

async function submit(path, fields) {
  const body = new URLSearchParams();
  const csrfToken = await getCsrfToken();
  for (const [name, value] of Object.entries({ ...fields, csrfToken, json: "true" })) {
    if (value != null) body.set(name, value);
  }
  return send(path, { method: "POST", body });
}

function mint(audience) {
  const asked = Date.now();
  const held = { until: Infinity }; // concurrent callers share the answer
  held.token = post("token", { audience }).then((answer) => {
    held.until = asked + (answer?.expires_in - 60) * 1000 || 0;
    return answer?.access_token;
  });
  return held;
}

async function post(path, fields) {
  const csrfToken = await getCsrfToken();
  return read(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ csrfToken, ...fields }),
  });
}

// null: an empty answer; undefined: a failure.
async function read(path, init) {
  try {
    const response = await send(path, init);
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const data = await response.json();
    return data && Object.keys(data).length ? data : null;
  } catch (error) {
    console.error(`authsvc: ${base}/${path}:`, error);
  }
}

function signInResponse({ ok, status }, data) {
  const url = data?.url ? new URL(data.url, location.href) : null;
  // Many callers look at error alone: a refusal must not leave it null.
  const error = url?.searchParams.get("error") ?? (ok ? null : "Default");
  return { error, status, ok, url: error ? null : (url?.href ?? null) };
}

// The service checked its url. callbackUrl, perhaps from the page's query, must
// stay on this origin.
function destination(data, callbackUrl) {
  if (data?.url) return data.url;
  const url = new URL(callbackUrl, location.href);
  return url.origin === location.origin ? url.href : location.href;
}

function navigate(url) {
  const { href } = new URL(url, location.href);
  const [page, fragment] = href.split("#");
  // A new fragment alone loads nothing.
  const reload = fragment !== undefined && page === location.href.split("#")[0];
  location.href = href;
  if (reload) location.reload();
}

async function readSession() {
  const session = await read("session");
  if (session === undefined) return;
  const who = JSON.stringify(session?.user ?? null);
  if (who !== (holder ?? who)) dropTokens();
  holder = who;
  return session;
}

// The tokens may belong to an earlier user. Pages without this client do not
// notify this tab of a sign-in or a sign-out.
function dropTokens() {
  tokens = new Map();
}

function changed(trigger) {
  dropTokens();
  announce(trigger);
}

function announce(trigger) {
  // Writing an equal value fires no event and timestamp is in seconds: hence id.
  const timestamp = Math.floor(Date.now() / 1000);
  const message = { event: "session", data: { trigger }, timestamp, id: Math.random() };
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(message));
  } catch {
    // Storage is off or full.
  }
}

function onStorage({ key, newValue }) {
  if (key !== STORAGE_KEY) return;
  try {
    const message = JSON.parse(newValue);
    if (message?.event !== "session" || !message.data) return;
    dropTokens();
    tellListeners();
  } catch {
    // Not a message.
  }
}

async function tellListeners() {
  if (listeners.size) await refreshSession();
}

function tell(session) {
  // As microtasks: one that throws is reported and does not stop others.
  for (const listener of listeners) queueMicrotask(() => listener(session));
}
