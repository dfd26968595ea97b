/**
 * Reads the session on a server: Node.js, Bun, Deno, and edge runtimes with
 * fetch. It stores nothing between requests. server.d.ts has the types.
 */
import { locate, uncached } from "./handler.js";

export { handler } from "./handler.js";

// The names of the session cookie with every compat, and of its chunks.
const NAMES =
  /^(?:__(?:Host|Secure)-)?(?:authsvc\.session|(?:next-auth|authjs)\.session-token)(?:\.\d+)?$/;
const PRIVATE = "private, no-cache, no-store";

/** A failure to read a session. The person may still be signed in. */
export class AuthError extends Error {
  name = "AuthError";
}

/**
 * Reads the session of a request: a Request, an object with its headers (of
 * Node.js or a Headers), or the headers themselves. Returns {session, cookies}:
 * session is null if no one is signed in; cookies are Set-Cookie lines for the
 * browser. Rejects with an AuthError if the service does not answer: treat the
 * person as not signed in. Throws TypeError for invalid options.
 */
export async function auth(request, options) {
  return ask(request, settings(options));
}

/**
 * Returns a middleware that lets signed-in people through. With Express and
 * similar frameworks it is (req, res, next), and the session is req.auth; with
 * Hono and similar frameworks it is (c, next), and the session is c.get("auth").
 * With a handler, protect returns a function of a Request, which calls
 * handler(request, session, ...more). Other people get the sign-in page (302) or
 * 401. If the service does not answer, they get 503. POST and other methods that
 * change something get 403 if a page of another origin sends them.
 */
export function protect(options, handler) {
  const fixed = typeof options?.url === "function" ? null : settings(options);
  const now = () => fixed ?? settings(options);
  if (handler) return async (request, ...more) => plain(now(), request, (session) => handler(request, session, ...more));
  return async (one, two, three) => (three ? node(now(), one, two, three) : hono(now(), one, two));
}

/** Adds cookies to a response: a Response, a Headers, or one of Node.js. Returns it. */
export function passOn(cookies, response) {
  for (const line of cookies) {
    if (response.appendHeader) response.appendHeader("Set-Cookie", line);
    else (response.headers ?? response).append("Set-Cookie", line);
  }
  return response;
}

/**
 * Returns HTML that passes the session (null: not signed in) to the hooks in the
 * page, which then show it from the first render on. Such a page must not be cached.
 */
export function hydrate(session) {
  const json = JSON.stringify(session ?? null).replaceAll("<", "\\u003c");
  return `<script type="application/json" id="authsvc-session">${json}</script>`;
}

function settings({ url, cookie, timeout = 5000, fetch, signIn, origin = "", trustedOrigins = [] } = {}) {
  const { at, base } = locate(url);
  for (const one of [origin, ...trustedOrigins]) {
    if (one && new URL(one).origin !== one) throw new TypeError(`authsvc: ${one} is not an origin`);
  }
  const known = cookie === undefined ? NAMES : { test: (name) => name.replace(/\.\d+$/, "") === cookie };
  return { endpoint: `${at + base}/session`, known, timeout, fetch, signIn: signIn ?? `${base}/signin`, origin, trustedOrigins };
}

async function ask(request, { endpoint, known, timeout, fetch = globalThis.fetch }) {
  const cookie = header(request, "cookie")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => /^[^=]+=[\x21-\x7e]+$/.test(pair) && known.test(pair.slice(0, pair.indexOf("="))))
    .join("; ");
  if (!cookie) return { session: null, cookies: [] };
  try {
    const response = await fetch(endpoint, {
      headers: { accept: "application/json", cookie },
      redirect: "manual",
      ...uncached(),
      signal: AbortSignal.timeout(timeout),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new AuthError(`authsvc answered ${response.status}`);
    }
    const session = await response.json();
    if (typeof session !== "object" || Array.isArray(session)) throw new AuthError("authsvc did not answer with a session");
    return {
      session: session && Object.keys(session).length ? session : null,
      cookies: response.headers.getSetCookie().filter((line) => known.test(line.slice(0, line.indexOf("=")))),
    };
  } catch (cause) {
    throw cause instanceof AuthError ? cause : new AuthError("cannot reach authsvc", { cause });
  }
}

// judge returns the session and cookies, or the refusal, [status, text, location].
async function judge(s, request) {
  if (foreign(s, request)) return { cookies: [], refusal: [403, "refused: the request comes from another site"] };
  try {
    const { session, cookies } = await ask(request, s);
    if (session) return { session, cookies };
    const refusal = navigates(request) ? [302, "", back(s, request)] : [401, "sign in first"];
    return { cookies, refusal };
  } catch (error) {
    console.error("authsvc:", error);
    return { cookies: [], refusal: [503, "sign-in is not available"] };
  }
}

// The session cookie is SameSite=Lax, which does not stop other origins of the same
// site. Sec-Fetch-Site and Origin tell which page sends a request.
function foreign({ origin: own, trustedOrigins }, request) {
  if (/^(?:GET|HEAD|OPTIONS)$/.test(request.method)) return false;
  const site = header(request, "sec-fetch-site");
  const origin = header(request, "origin");
  if (site === "same-origin" || site === "none" || (!site && !origin) || trustedOrigins.includes(origin)) return false;
  if (site) return true;
  return own ? origin !== own : origin.replace(/^https?:\/\//, "") !== header(request, "host");
}

function navigates(request) {
  const mode = header(request, "sec-fetch-mode") || "navigate";
  return request.method === "GET" && mode === "navigate" && header(request, "accept").includes("text/html");
}

// back returns the URL of the sign-in page with the way back, a path, so that neither
// a Host header nor a URL in the request line leads elsewhere.
function back({ signIn, origin }, request) {
  let path = "/";
  try {
    const { pathname, search } = new URL(request.originalUrl ?? request.url, "http://_");
    path = `/${pathname.replace(/^\/+/, "")}${search}`;
  } catch {
    // Not a URL.
  }
  return `${signIn}${signIn.includes("?") ? "&" : "?"}callbackUrl=${encodeURIComponent(origin + path)}`;
}

function header(request, name) {
  const headers = (request.raw ?? request).headers ?? request;
  return (typeof headers.get === "function" ? headers.get(name) : headers[name]) ?? "";
}

function refuse(cookies, [status, text, location]) {
  const headers = { "cache-control": PRIVATE, vary: "Cookie", "content-type": "text/plain; charset=utf-8" };
  if (location) headers.location = location;
  return passOn(cookies, new Response(text, { status, headers }));
}

async function plain(s, request, handler) {
  const { session, cookies, refusal } = await judge(s, request);
  if (refusal) {
    // The middleware of Next.js needs a whole URL, and makes it a path again.
    if (refusal[2] && request.nextUrl) refusal[2] = new URL(refusal[2], request.url).href;
    return refuse(cookies, refusal);
  }
  let response = await handler(session);
  try {
    response.headers.append("vary", "Cookie");
  } catch {
    response = new Response(response.body, response); // a copy with headers that can be changed
    response.headers.append("vary", "Cookie");
  }
  if (!response.headers.has("cache-control")) response.headers.set("cache-control", PRIVATE);
  return passOn(cookies, response);
}

async function hono(s, c, next) {
  const { session, cookies, refusal } = await judge(s, c.req.raw);
  if (refusal) return refuse(cookies, refusal);
  c.set("auth", session);
  await next();
  if (!c.res.headers.has("cache-control")) c.header("cache-control", PRIVATE);
  c.header("vary", "Cookie", { append: true });
  for (const line of cookies) c.header("set-cookie", line, { append: true });
}

async function node(s, req, res, next) {
  const { session, cookies, refusal } = await judge(s, req);
  passOn(cookies, res);
  res.setHeader("Cache-Control", PRIVATE);
  res.appendHeader("Vary", "Cookie");
  if (!refusal) {
    req.auth = session;
    return next();
  }
  const [status, text, location] = refusal;
  if (location) res.setHeader("Location", location);
  res.statusCode = status;
  res.setHeader("Content-Type", "text/plain; charset=utf-8");
  res.end(text);
}
