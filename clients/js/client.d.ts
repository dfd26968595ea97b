/**
 * Types of the authsvc browser client. Names and shapes are those of
 * next-auth/react (v4), so that code typed against it keeps compiling.
 *
 * Add your own session fields the way NextAuth.js has it:
 *
 *     declare module "authsvc-client" {
 *       interface Session { user?: DefaultSession["user"] & { role?: string } }
 *     }
 */

/** A string that editors complete with the literals T. */
export type LiteralUnion<T extends U, U = string> = T | (U & Record<never, never>);

/** A moment as in "2026-01-31T12:00:00.000Z". */
export type ISODateString = string;

/** What a session holds unless the service's session callback says otherwise. */
export interface DefaultSession {
  user?: {
    name?: string | null;
    email?: string | null;
    image?: string | null;
  };
  /** When the session ends if nothing renews it. */
  expires: ISODateString;
}

/** The session as the service shows it to the browser. Made for augmentation. */
export interface Session extends DefaultSession {}

/** How a provider signs in. Only email and credentials can stay on the page. */
export type ProviderType = "oauth" | "email" | "credentials";

/** The types of provider for which `redirect: false` counts. */
export type RedirectableProviderType = "email" | "credentials";

/** What the service tells about a provider. */
export interface ClientSafeProvider {
  id: LiteralUnion<RedirectableProviderType>;
  name: string;
  type: ProviderType;
  /** Where the sign-in form is posted to. */
  signinUrl: string;
  /** What must be registered with the provider. */
  callbackUrl: string;
}

/** Where the service is; see {@link configure}. */
export interface ClientOptions {
  /**
   * Absolute http(s) URL of the service; a path in it replaces `/api/auth`.
   * On another origin than the page's, the service must have that origin in
   * `trusted_origins`; cookies are then sent along.
   */
  baseUrl?: string;
  /** Path of the routes, on `baseUrl` or else on the page's origin. */
  basePath?: string;
}

/** Options of {@link getSession}. */
export interface GetSessionParams {
  /** Accepted for next-auth/react's sake; without effect. */
  event?: "storage" | "timer" | "hidden" | string;
  /** Accepted for next-auth/react's sake; without effect. */
  triggerEvent?: boolean;
  /** Whether other tabs are told to read their session (default true). */
  broadcast?: boolean;
}

/**
 * Options of {@link signIn}. Members beside these are sent as form fields
 * (`email`, `username`, `password` …) unless null or undefined; `link: "true"`
 * adds the provider's account to the signed-in user instead of switching.
 */
export interface SignInOptions extends Record<string, unknown> {
  /** Where to go after signing in. Default: this page. The service checks it. */
  callbackUrl?: string;
  /** false: stay on this page. Counts for the types credentials and email. */
  redirect?: boolean;
}

/** Appended to the sign-in request's query (`login_hint`, `prompt` …). */
export type SignInAuthorizationParams =
  | string
  | string[][]
  | Record<string, string>
  | URLSearchParams;

/** What came of {@link signIn} with `redirect: false`. */
export interface SignInResponse {
  /**
   * null when it went well; else the service's word, such as
   * `CredentialsSignin`, or `Default` for a refusal without one.
   */
  error: string | null;
  /** HTTP status. */
  status: number;
  /** Whether status is 2xx. A mail that was not sent can be ok with an error. */
  ok: boolean;
  /** Where a redirect would have gone; null with an error. */
  url: string | null;
}

/** Options of {@link submitCode}. */
export interface SubmitCodeOptions {
  /** Where to go after signing in. Default: this page. The service checks it. */
  callbackUrl?: string;
  /** false: stay on this page. */
  redirect?: boolean;
  /** The id of the e-mail provider. Default: `email`. */
  provider?: string;
}

/** Options of {@link signOut}. */
export interface SignOutParams<R extends boolean = true> {
  /** Where to go afterwards. Default: this page. The service checks it. */
  callbackUrl?: string;
  /** false: stay on this page. */
  redirect?: R;
}

/** What came of {@link signOut} with `redirect: false`. */
export interface SignOutResponse {
  /** Where a redirect would have gone. */
  url: string;
}

/**
 * Says where the service is. Without a call it is where the module came from
 * (`{base}/client.js`) or `/api/auth`; `configure()` goes back to that.
 * Throws a TypeError if an option is malformed.
 */
export declare function configure(options?: ClientOptions): void;

/**
 * Reads the session and tells other tabs to read theirs. Resolves to null
 * without a session, and also (logged to the console) if the service cannot be
 * reached or answers with an error. Never rejects. `getSession<MySession>()`
 * has your own type, which `authsvc types client` prints.
 */
export declare function getSession<S extends DefaultSession = Session>(
  params?: GetSessionParams,
): Promise<S | null>;

/**
 * Returns the token that every POST to the service needs; signIn, signOut and
 * update fetch it themselves. undefined (logged) on failure. Never rejects.
 */
export declare function getCsrfToken(): Promise<string | undefined>;

/**
 * Returns the configured providers by id; null when there are none, and
 * (logged) on failure. Never rejects.
 */
export declare function getProviders(): Promise<Record<
  LiteralUnion<RedirectableProviderType>,
  ClientSafeProvider
> | null>;

/**
 * Signs in with a provider, or goes to the page that lists them if it is
 * missing or unknown; to `{base}/error` if the providers cannot be read.
 *
 * Resolves to undefined when the page is being left, which is always so for
 * OAuth providers. Rejects if the POST fails or its answer is not JSON.
 */
export declare function signIn<P extends RedirectableProviderType | undefined = undefined>(
  provider?: LiteralUnion<
    P extends RedirectableProviderType ? P | RedirectableProviderType : RedirectableProviderType
  >,
  options?: SignInOptions,
  authorizationParams?: SignInAuthorizationParams,
): Promise<P extends RedirectableProviderType ? SignInResponse | undefined : undefined>;

/**
 * Signs in with the one-time code of the mail that `signIn("email", { email })`
 * asked for, in the browser that asked: spaces in it do not matter. Resolves to
 * undefined when the page is being left, with `redirect: false` to the answer,
 * whose error is `Code` for a code that is wrong or was tried too often (the
 * link in the mail still works), and `Verification` if this browser did not ask
 * for it or it is too old. Rejects as signIn does.
 */
export declare function submitCode(
  email: string,
  code: string,
  options?: SubmitCodeOptions,
): Promise<SignInResponse | undefined>;

/**
 * Signs out and tells other tabs. Resolves to undefined when the page is being
 * left, with `redirect: false` to the answer. Rejects if the POST fails or its
 * answer is not JSON.
 */
export declare function signOut<R extends boolean = true>(
  options?: SignOutParams<R>,
): Promise<R extends true ? undefined : SignOutResponse>;

/**
 * Returns a token (JWT) for another back end of the application, to send as
 * `Authorization: Bearer`. audience is one of the service's `tokens.audiences`
 * and may be left out if there is one. The token is kept until a minute before
 * its end, or until somebody signs in or out or this tab is left; ask for it
 * before each call.
 * undefined (logged) without a session and on failure. Never rejects.
 */
export declare function getToken(audience?: string): Promise<string | undefined>;

/**
 * Renews the session, as `update` of next-auth/react's useSession does. data
 * (anything that JSON can hold) goes to the service's callbacks, which decide
 * what becomes of it. Resolves to the new session; null without one, and
 * (logged) on failure. Never rejects.
 */
export declare function update<S extends DefaultSession = Session>(data?: any): Promise<S | null>;

/**
 * Reads the session again and calls the listeners of {@link onSessionChange};
 * with `broadcast` (default false) has other tabs do so. Resolves to undefined
 * (logged) on failure, of which listeners do not hear. Never rejects.
 */
export declare function refreshSession<S extends DefaultSession = Session>(params?: {
  broadcast?: boolean;
}): Promise<S | null | undefined>;

/**
 * Calls listener with the session (null: none) whenever it may have changed:
 * when another tab says so, and after update, and signIn and signOut with
 * `redirect: false`, in this one. A session that cannot be read is not
 * reported. A listener must not call getSession() with broadcast: two tabs
 * would call each other for ever.
 *
 * Returns a function that ends the subscription.
 */
export declare function onSessionChange<S extends DefaultSession = Session>(
  listener: (session: S | null) => void,
): () => void;
