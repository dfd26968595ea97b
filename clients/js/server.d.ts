/** Types of authsvc-client/server. */
import type { Session } from "./client.js";

/** Headers in any of the shapes that servers have them in. */
export type HeadersLike = { get(name: string): string | null | undefined } | Record<string, unknown>;

/** A Request, an IncomingMessage of Node.js, or headers alone. */
export type RequestLike = { headers: HeadersLike } | HeadersLike;

/** Where the service is and whose cookies to pass on. */
export interface AuthOptions {
  /**
   * The address at which this server reaches the service, such as
   * `http://auth.internal:3000`, which has to be one of its `internal_hosts`,
   * or its public address. A path in it replaces `/api/auth`. A function is
   * called for every request, for builds that run without the environment.
   */
  url: string | URL | (() => string | URL);
  /** The service's `cookies.session`, if that is set. */
  cookie?: string;
  /** Milliseconds that the service may take to answer; default 5000. */
  timeout?: number;
  /** Used in place of the runtime's fetch. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** What {@link protect} takes besides. */
export interface ProtectOptions extends AuthOptions {
  /**
   * Where people sign in: a path here or an address. Default: `/signin` below
   * the path of `url`, on this origin.
   */
  signIn?: string;
  /**
   * This application's origin, if the service is at another one: it has to be
   * told where to send people back to (its `allowed_redirects`).
   */
  origin?: string;
  /** Further origins whose pages may POST here with the person's cookies. */
  trustedOrigins?: string[];
}

/** What {@link auth} found. */
export interface Found<S = Session> {
  /** null: nobody is signed in. */
  session: S | null;
  /** Set-Cookie lines for the browser: sessions that are used are extended. */
  cookies: string[];
}

/** Why a session could not be read. It says nothing about the person. */
export declare class AuthError extends Error {}

/**
 * Reads the session of a request. Only the session cookie is passed on; without
 * one the service is not asked. Rejects with an {@link AuthError} if the
 * service cannot be asked, takes too long or answers with anything but a
 * session, and with a TypeError if the options are wrong.
 */
export declare function auth<S = Session>(request: RequestLike, options: AuthOptions): Promise<Found<S>>;

/** A middleware of Express and its like; the session is `req.auth`. */
export type NodeMiddleware = (request: any, response: any, next: (error?: any) => void) => Promise<void>;

/** A middleware of Hono and its like; the session is `c.get("auth")`. */
export type HonoMiddleware = (c: any, next: () => Promise<void>) => Promise<Response | void>;

/**
 * Lets signed-in people through. Others are sent to the sign-in page and come
 * back (302) when they open a page, and get 401 otherwise; 503 if the service
 * cannot be asked; 403 if a page of another origin changes something (POST and
 * all but GET, HEAD and OPTIONS), unless `trustedOrigins` names it. Answers are
 * not to be stored by caches unless they say so themselves.
 *
 * Throws a TypeError if the options are wrong.
 */
export declare function protect(options: ProtectOptions): NodeMiddleware & HonoMiddleware;
export declare function protect<S = Session, R extends Request = Request, M extends unknown[] = []>(
  options: ProtectOptions,
  handler: (request: R, session: S, ...more: M) => Response | Promise<Response>,
): (request: R, ...more: M) => Promise<Response>;

/** Adds cookies to a Response, a Headers or a response of Node.js, and returns it. */
export declare function passOn<T>(cookies: string[], response: T): T;

/**
 * Returns HTML that hands the session (null: nobody) to the hooks in the page,
 * which then show it from their first render on. A page with it must not be
 * stored by caches.
 */
export declare function hydrate(session: unknown): string;
