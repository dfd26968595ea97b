/** Types of authsvc-client/server. */
import type { Session } from "./client.js";

/** Headers in any of the shapes that servers use. */
export type HeadersLike = { get(name: string): string | null | undefined } | Record<string, unknown>;

/** A Request, an IncomingMessage of Node.js, or headers alone. */
export type RequestLike = { headers: HeadersLike } | HeadersLike;

/** The options of {@link auth}. */
export interface AuthOptions {
  /**
   * The address at which this server reaches the service, such as
   * `http://auth.internal:3000`: one of its `internal_hosts`, or its public
   * address. A path in it replaces `/api/auth`. A function is called for every
   * request, so a build needs no environment variables. Undefined, such as a
   * variable that is not set, is a TypeError.
   */
  url: string | URL | undefined | (() => string | URL | undefined);
  /** The complete name of the session cookie, if `cookies.session` or `cookies.prefix` of the service is set. */
  cookie?: string;
  /** Milliseconds that the service may take to answer; default 5000. */
  timeout?: number;
  /** Replaces the runtime's fetch. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** The options of {@link protect}. */
export interface ProtectOptions extends AuthOptions {
  /**
   * Where people sign in: a path here or an address. Default: `/signin` below
   * the path of `url`, on this origin.
   */
  signIn?: string;
  /**
   * This application's origin, if the service is at another origin. The service
   * must list it in `allowed_redirects`, to send people back.
   */
  origin?: string;
  /** Other origins whose pages may POST here with the person's cookies. */
  trustedOrigins?: string[];
}

/** The result of {@link auth}. */
export interface Found<S = Session> {
  /** null: no one is signed in. */
  session: S | null;
  /** Set-Cookie lines for the browser, since use extends a session. */
  cookies: string[];
}

/** A failure to read a session. The person may still be signed in. */
export declare class AuthError extends Error {}

/**
 * Reads the session of a request. It passes only the session cookie to the
 * service, and without one does not call the service. Rejects with an
 * {@link AuthError} if the service cannot be reached, takes too long or does not
 * answer with a session, and with a TypeError if the options are invalid.
 */
export declare function auth<S = Session>(request: RequestLike, options: AuthOptions): Promise<Found<S>>;

/** A middleware of Express and similar frameworks; the session is `req.auth`. */
export type NodeMiddleware = (request: any, response: any, next: (error?: any) => void) => Promise<void>;

/** A middleware of Hono and similar frameworks; the session is `c.get("auth")`. */
export type HonoMiddleware = (c: any, next: () => Promise<void>) => Promise<Response | void>;

/**
 * Lets signed-in people through. Other people who open a page go to the sign-in
 * page and come back (302); other requests get 401. If the service cannot be
 * reached, requests get 503. If a page of another origin sends POST or any method
 * but GET, HEAD and OPTIONS, it gets 403, unless `trustedOrigins` names the
 * origin. Answers forbid caching, unless they set Cache-Control themselves.
 *
 * Throws a TypeError if the options are invalid.
 */
export declare function protect(options: ProtectOptions): NodeMiddleware & HonoMiddleware;
export declare function protect<S = Session, R extends Request = Request, M extends unknown[] = []>(
  options: ProtectOptions,
  handler: (request: R, session: S, ...more: M) => Response | Promise<Response>,
): (request: R, ...more: M) => Promise<Response>;

/** The options of {@link handler}. */
export interface HandlerOptions {
  /**
   * The address at which this server reaches the service. A path in it replaces
   * `/api/auth`, here and there. A function is called for every request. Undefined,
   * such as a variable that is not set, is a TypeError.
   */
  url: string | URL | undefined | (() => string | URL | undefined);
  /**
   * One of the service's `proxy_keys`, which shows the service that a request comes
   * from this server. Leave it out if this server's address is among its
   * `trusted_proxies`. At least 32 printable ASCII characters; use https then.
   */
  key?: string | (() => string | undefined);
  /**
   * The origin that browsers use, which is the origin of the service's `url`. If it
   * is set, requests with another Host get 421 here. The service refuses them anyway.
   */
  origin?: string;
  /** Milliseconds that the service may take to answer; default 30000. */
  timeout?: number;
  /**
   * Returns the address of the client, or the `X-Forwarded-For` that a proxy in front
   * of this server has written. It gets the first argument of the route handler.
   * Default: the `X-Forwarded-For` of the request, followed by the address of the
   * connection. A route handler of Next.js (app router) and of edge runtimes does not
   * know that address; without this option, all clients then share one rate limit.
   */
  clientAddress?: (request: any) => string | null | undefined;
  /**
   * Replaces the HTTP client, which is that of Node.js or, where there is none, the
   * runtime's fetch.
   */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/**
 * A route handler: of a request and a response of Node.js (pages router of Next.js,
 * Express), of a context (Hono), of an event (Nuxt, SvelteKit), and of a Request
 * (Next.js, app router). The last one must be that of a Request: TypeScript infers from
 * the last overload, and `next build` so checks the type of a route.
 */
export interface Handler {
  (request: any, response: { setHeader: any; appendHeader: any; end: any; statusCode: number }, next?: (error?: any) => void): Promise<void>;
  (event: { request: Request } | { req: { raw: Request } } | { req: Request }, ...more: any[]): Promise<Response>;
  (event: { node?: any; web?: any }): Promise<Response | void>;
  (request: Request, ...more: any[]): Promise<Response>;
}

/**
 * Returns a route handler that passes requests below `/api/auth` on to the service,
 * so that browsers need not reach it. The service needs `forwarded_host: true`, and
 * this server in `trusted_proxies` or a key in `proxy_keys`.
 *
 * Redirects and cookies reach the browser unchanged. If the service does not answer,
 * people get 503; a body of more than 64 KiB gets 413. Express continues with its next
 * handler for other paths; elsewhere, they get 404.
 *
 * Throws a TypeError if the options are invalid.
 */
export declare function handler(options: HandlerOptions): Handler;

/** Adds cookies to a Response, a Headers or a response of Node.js, and returns it. */
export declare function passOn<T>(cookies: string[], response: T): T;

/**
 * Returns HTML that passes the session (null: not signed in) to the hooks in the
 * page, which then show it from their first render on. Caches must not store a
 * page with it.
 */
export declare function hydrate(session: unknown): string;
