/** Types of account.js, which the service serves at `{base}/account.js`. */

type ISODateString = string;

/** The answer of `GET {base}/account`. Members for things that do not exist or are off are null. */
export interface Account {
  user: { id: string; name: string | null; email: string | null; emailVerified: boolean; image: string | null };
  /** The session of this request. */
  session: {
    id: string;
    /** The number of proved factors, or phr for a passkey. */
    acr: "1fa" | "2fa" | "phr" | null;
    /** The methods used (RFC 8176, and fed, email, app, rec). */
    amr: string[];
    /** When the person signed in, which is not always a proof of identity. */
    authTime: ISODateString;
    /** Whether that is recent enough for changes that need a fresh proof. */
    fresh: boolean;
    /** When a second factor was proved in this session. Reserved. */
    secondAt: ISODateString | null;
    /** Who acts as the person in this session. Reserved. */
    actor: string | null;
  };
  /** The ways to sign in. */
  accounts: { id: string; provider: string; name: string; removable: boolean }[];
  passkeys: null;
  password: null;
  secondStep: null;
  /** Where the person is signed in, most recently used first; at most 100. */
  sessions: AccountSession[];
  pending: {
    /** The pending change of address. */
    email: PendingAddress | null;
    /** When the account will be deleted. */
    deletion: ISODateString | null;
  };
  /** The providers that can be added as a way to sign in. */
  providers: { id: string; name: string }[];
  signal: null;
}

/** A session in {@link Account}. */
export interface AccountSession {
  id: string;
  /** Whether it is the session of this request. */
  current: boolean;
  /** For example, "Firefox on Linux". */
  device: string;
  /** The network of the sign-in, an IPv4 /24 or IPv6 /48. */
  network: string | null;
  place: string | null;
  provider: string | null;
  /** The application that holds the session; null: a browser. Reserved. */
  client: string | null;
  /** Who acts as the person in the session. Reserved. */
  actor: string | null;
  created: ISODateString | null;
  /** The last use, accurate to a quarter of an hour. */
  used: ISODateString | null;
}

/** A pending change of address. */
export interface PendingAddress {
  id: string;
  /** The new address. */
  address: string;
  /** Whether the new address is confirmed. */
  newProved: boolean;
  /** Whether the old address allowed the change. */
  oldProved: boolean;
  /** When the change can be made without permission of the old address, once the new address is confirmed. */
  notBefore: ISODateString;
}

/** The words of refusals; docs/errors.md explains them. */
export type AccountError =
  | "FreshRequired"
  | "LastMethod"
  | "Taken"
  | "Code"
  | "Invalid"
  | "NotFound"
  | "Unavailable"
  | "RateLimited"
  | "SessionRequired"
  | "csrf"
  | "Default";

/** The result of a change. */
export type Result =
  /** account is null if this session ended, or if a link was confirmed without a session. */
  | { ok: true; account: Account | null; url: string | null }
  | {
      ok: false;
      error: AccountError | (string & {});
      /** HTTP status; 0 if there was no answer. */
      status: number;
      /** With FreshRequired, the page that asks for a fresh proof and comes back here. */
      url: string | null;
      /** Seconds to wait. */
      retryAfter?: number;
    };

/** Resolves to null if no one is signed in, and on failure (logged). Never rejects. */
export declare function getAccount(): Promise<Account | null>;

/** Changes the name: 1 to 100 characters. Never rejects. */
export declare function updateProfile(profile: { name: string }): Promise<Result>;

/**
 * Adds a way to sign in: goes to the provider, or, without a fresh proof, to the
 * page that asks for one. Rejects as signIn does.
 */
export declare function linkAccount(provider: string, options?: { callbackUrl?: string }): Promise<undefined>;

/** Removes a way to sign in, by its id in {@link Account}. Never rejects. */
export declare function unlinkAccount(id: string): Promise<Result>;

/** Signs one browser out, by its id in {@link Account}. Never rejects. */
export declare function endSession(id: string): Promise<Result>;

/** Signs the person out everywhere but here. Never rejects. */
export declare function endOtherSessions(): Promise<Result>;

/**
 * Requests a change of address, and asks both addresses to agree. Also ok if the
 * address belongs to another account; its owner then gets a mail. Never rejects.
 */
export declare function changeEmail(email: string): Promise<Result>;

/**
 * Confirms the new address with the code of its mail, in five tries, or agrees for
 * either address with the token of its link. With the token of the old address, stop
 * stops the change. Never rejects.
 */
export declare function confirmEmail(
  proof: { id?: string; code: string } | { id: string; token: string; stop?: boolean },
): Promise<Result>;

/** Completes a change of address that is due. Never rejects. */
export declare function finishEmailChange(): Promise<Result>;

/** Cancels a change of address. Never rejects. */
export declare function cancelEmailChange(): Promise<Result>;

/**
 * Schedules the account for deletion, and ends all sessions. The page at `url` says
 * until when it can be kept. `confirm` is the address of the account, or `"delete"` if
 * it has none. Never rejects.
 */
export declare function deleteAccount(confirm: string): Promise<Result>;

/** Keeps an account scheduled for deletion. Never rejects. */
export declare function keepAccount(): Promise<Result>;

/**
 * Goes to the page that asks for a fresh proof of identity, and comes back to
 * `callbackUrl` (default: this page). On your own page for that, `provider` is one of
 * the ways in its address: the proof then begins there. For credentials, add the fields
 * of your form. Never rejects.
 */
export declare function confirmIdentity(options?: {
  provider?: string;
  callbackUrl?: string;
  [field: string]: string | undefined;
}): Promise<undefined>;
