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
   * request, so a build needs no environment variables.
   */
  url: string | URL | (() => string | URL);
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

/** Adds cookies to a Response, a Headers or a response of Node.js, and returns it. */
export declare function passOn<T>(cookies: string[], response: T): T;

/**
 * Returns HTML that passes the session (null: not signed in) to the hooks in the
 * page, which then show it from their first render on. Caches must not store a
 * page with it.
 */
export declare function hydrate(session: unknown): string;
