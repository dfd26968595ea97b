/**
 * Passes requests on to the service, in a server that browsers reach instead of
 * it. server.d.ts has the types.
 */

// What the service reads of a request, except the headers about its origin, which
// this module writes itself.
const READ = (
  "accept accept-language access-control-request-headers access-control-request-method authorization content-encoding " +
  "content-type cookie hx-boosted hx-current-url hx-request if-none-match origin purpose sec-fetch-dest sec-fetch-mode " +
  "sec-fetch-site sec-fetch-user sec-purpose user-agent x-auth-return-redirect x-moz x-requested-with"
).split(" ");
// What belongs to the connection to the service, or to the host at which it is reached.
const DROPPED = /^(?:alt-svc|connection|content-length|keep-alive|proxy-.*|set-cookie|strict-transport-security|te|trailer|transfer-encoding|upgrade)$/;
const MAX_BODY = 64 * 1024; // of the service, too
const METHODS = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$/;

let warned = false; // that the addresses of clients are not known

class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** Returns the origin of the service's url and the path of its routes. Throws TypeError. */
export function locate(url) {
  const given = typeof url === "function" ? url() : url;
  if (!given) throw new TypeError("authsvc: url is not set; if it is an environment variable, set that");
  const { protocol, origin, pathname, username, password, search, hash } = new URL(given);
  if (!/^https?:$/.test(protocol) || username || password || search || hash) {
    throw new TypeError("authsvc: url must be an http(s) URL of scheme, host and path");
  }
  return { at: origin, base: pathname === "/" ? "/api/auth" : pathname.replace(/\/$/, "") };
}

/**
 * Returns a function that answers a request with the service's answer. It takes a
 * Request (Next.js, app router), (req, res) (pages router), (req, res, next)
 * (Express), a context (Hono) or an event (Nuxt, SvelteKit). If the service does not
 * answer, people get 503. Throws TypeError for invalid options.
 */
export function handler(options) {
  const lazy = [options?.url, options?.key].some((option) => typeof option === "function");
  const fixed = lazy ? null : settings(options);
  return async (one, two, three) => {
    const s = fixed ?? settings(options);
    const call = incoming(one, two, three);
    const target = locateRoute(s, call.path);
    if (!target && call.next) return call.next();
    const { status, headers, body } = target ? await answer(s, call, target) : refuse(404, "no such page");
    if (!call.res) return new Response(body, { status, headers });
    call.res.statusCode = status;
    for (const [name, value] of headers) {
      if (name === "set-cookie" || name === "vary") call.res.appendHeader(name, value);
      else call.res.setHeader(name, value);
    }
    call.res.end(body ?? undefined);
  };
}

function settings({ url, key, origin = "", timeout = 30000, fetch, clientAddress } = {}) {
  const secret = typeof key === "function" ? key() : key;
  if (key !== undefined && !/^[\x21-\x7e]{32,}$/.test(secret)) {
    throw new TypeError("authsvc: key must have at least 32 printable ASCII characters");
  }
  if (origin && new URL(origin).origin !== origin) throw new TypeError(`authsvc: ${origin} is not an origin`);
  return { ...locate(url), secret, origin, timeout, fetch, clientAddress };
}

// incoming reads the arguments of each framework. res is set if Node.js writes the
// answer. peer returns the address of the connection, as far as the framework knows it.
function incoming(one, two, three) {
  if (typeof two?.setHeader === "function") return ofNode(one, two, three);
  const request = [one?.web?.request, one?.req?.raw, one, one?.request, one?.req].find((r) => typeof r?.headers?.get === "function" && typeof r.url === "string");
  if (!request && one?.node?.req) return ofNode(one.node.req, one.node.res);
  if (!request) throw new TypeError("authsvc: handler needs a Request, an object with one, or a request and a response of Node.js");
  const { pathname, search, host } = new URL(request.url);
  const get = (name) => request.headers.get(name) ?? undefined;
  const peer = () => one.getClientAddress?.() ?? (one.env?.incoming ?? one.node?.req)?.socket?.remoteAddress ?? request.ip;
  return { of: one, method: request.method, path: pathname + search, get, host: get("host") ?? host, peer, read: () => collect(request.body, get) };
}

function ofNode(req, res, next) {
  const get = (name) => req.headers[name];
  const read = () => {
    // A parser in front, such as express.urlencoded(), has read the stream.
    const parsed = req.rawBody ?? req.body;
    if (typeof parsed === "string" || parsed instanceof Uint8Array) return collect([parsed], get);
    if (req.readableEnded) return collect([encode(parsed ?? {}, get("content-type"))], get);
    return collect(req.iterator?.({ destroyOnReturn: false }) ?? req, get); // the connection must carry a refusal
  };
  const path = req.originalUrl ?? req.url;
  return { of: req, method: req.method, path, get, host: get("host") ?? get(":authority") ?? "", peer: () => req.socket?.remoteAddress, read, res, next };
}

function encode(parsed, type = "") {
  if (type.startsWith("application/json")) return JSON.stringify(parsed);
  const pairs = Object.entries(parsed).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  if (pairs.some(([, value]) => typeof value === "object")) throw new Refusal(400, "the form has nested fields");
  return new URLSearchParams(pairs).toString();
}

// collect returns the body, up to the size that the service accepts.
async function collect(parts, get) {
  const body = new Uint8Array(MAX_BODY);
  let size = 0;
  let tooLarge = Number(get("content-length")) > MAX_BODY;
  for await (const part of (!tooLarge && parts) || []) {
    const bytes = typeof part === "string" ? new TextEncoder().encode(part) : part;
    tooLarge = size + bytes.length > MAX_BODY;
    if (tooLarge) break;
    body.set(bytes, size);
    size += bytes.length;
  }
  if (tooLarge) throw new Refusal(413, "the body is too large");
  return body.subarray(0, size);
}

// locateRoute returns the URL of a path at the service; nothing if it is not below
// the base path once the URL parser has resolved its dots.
function locateRoute({ at, base }, path) {
  if (!path.startsWith("/")) return;
  const { origin, pathname, href } = new URL(at + path);
  if (origin === at && (pathname === base || pathname.startsWith(`${base}/`))) return href;
}

async function answer(s, call, target) {
  try {
    if (!METHODS.test(call.method)) throw new Refusal(405, "this method is not served here");
    if (s.origin && !sameHost(s.origin, call.host)) throw new Refusal(421, "this host is not served here");
    const sent = /^(?:GET|HEAD)$/.test(call.method) ? undefined : await call.read();
    const init = { method: call.method, headers: outgoing(s, call), body: sent, redirect: "manual", ...uncached(), signal: AbortSignal.timeout(s.timeout) };
    const response = await (s.fetch ?? ofNodeHTTP() ?? globalThis.fetch)(target, init);
    // Node.js writes an answer at once, so that one that breaks off is 503 and not an error of the application.
    const body = call.res && response.body ? new Uint8Array(await response.arrayBuffer()) : response.body;
    return { status: response.status, headers: returned(response), body };
  } catch (error) {
    if (error instanceof Refusal) return refuse(error.status, error.message);
    console.error("authsvc:", error);
    return refuse(503, "sign-in is not available");
  }
}

function sameHost(origin, host) {
  const url = `${new URL(origin).protocol}//${host}`;
  return /^[^/\\?#@\s]+$/.test(host) && URL.canParse(url) && new URL(url).origin === origin;
}

// outgoing returns the headers for the service. The service reads the host from
// X-Forwarded-Host, since most runtimes do not let a program set Host.
function outgoing(s, { of, get, host, peer }) {
  const headers = new Headers({ "accept-encoding": "identity", "x-forwarded-host": host });
  for (const name of READ) if (get(name) !== undefined) headers.set(name, get(name));
  const address = s.clientAddress ? s.clientAddress(of) : peer();
  const before = s.clientAddress ? "" : get("x-forwarded-for");
  if (address) headers.set("x-forwarded-for", before ? `${before}, ${address}` : address);
  else if (!s.clientAddress && !warned) {
    warned = true;
    console.warn("authsvc: handler does not know the addresses of clients here, so all share one limit; set clientAddress");
  }
  if (s.secret) headers.set("authsvc-proxy-key", s.secret);
  return headers;
}

function returned(response) {
  const own = (response.headers.get("connection") ?? "").toLowerCase().split(/[\s,]+/);
  const headers = new Headers();
  for (const [name, value] of response.headers) {
    // fetch has decoded the body.
    if (!DROPPED.test(name) && !own.includes(name) && (name !== "content-encoding" || response.raw)) headers.append(name, value);
  }
  for (const line of response.headers.getSetCookie()) headers.append("set-cookie", line);
  return headers;
}

function refuse(status, body) {
  return { status, body, headers: new Headers({ "cache-control": "private, no-cache, no-store", "content-type": "text/plain; charset=utf-8" }) };
}

/** Returns the option that keeps fetch from caches, where the runtime has it. */
export function uncached() {
  return "cache" in Request.prototype ? { cache: "no-store" } : {};
}

// ofNodeHTTP returns fetch by the HTTP client of Node.js, if there is one: the fetch of
// Node.js replaces Sec-Fetch-Mode, by which the service tells pages from scripts.
function ofNodeHTTP() {
  const [http, https, stream] = ["http", "https", "stream"].map((name) => globalThis.process?.getBuiltinModule?.(`node:${name}`));
  if (!http || !https || !stream) return;
  return (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const { request } = url.startsWith("https:") ? https : http;
      const sent = request(url, { method, headers: Object.fromEntries(headers), signal }, (res) => {
        const pairs = res.rawHeaders.flatMap((name, i, all) => (i % 2 ? [] : [[name, all[i + 1]]]));
        const empty = method === "HEAD" || [204, 205, 304].includes(res.statusCode);
        if (empty) res.resume();
        try {
          const response = new Response(empty ? null : stream.Readable.toWeb(res), { status: res.statusCode, headers: pairs });
          resolve(Object.assign(response, { raw: true }));
        } catch (error) {
          reject(error); // a status that no Response has
          res.destroy();
        }
      });
      sent.on("error", reject);
      sent.on("close", () => reject(new Error("the connection ended without an answer")));
      sent.end(body);
    });
}
