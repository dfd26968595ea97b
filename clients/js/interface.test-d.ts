// Checked by `npm run test:types`; never run. The types of client.d.ts and account.d.ts
// and those of docs/openapi.yaml say the same.
import type * as ours from "authsvc-client";
import type * as mine from "authsvc-client/account";
import type { components, paths } from "authsvc-client/types";

type Described = components["schemas"];
type Body<R> = R extends { content: { "application/json": infer B } } ? B : never;
type Get<P extends keyof paths> = paths[P] extends { get: { responses: { 200: infer R } } } ? Body<R> : never;
type Takes<A, B> = [A] extends [B] ? true : false;
// Identical: a member that only one of them has, optional or not, is a difference.
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;

export const described: [
  // What is answered is what the functions promise, somebody or nobody.
  Takes<Described["Session"], ours.DefaultSession>,
  Takes<Get<"/api/auth/session">, Described["Session"] | Record<string, never> | null>,
  Takes<Get<"/api/auth/csrf">["csrfToken"], Awaited<ReturnType<typeof ours.getCsrfToken>>>,
  Takes<Omit<Get<"/api/auth/providers">[string], "type">, Omit<ours.ClientSafeProvider, "type">>,
  Takes<ours.ProviderType, Get<"/api/auth/providers">[string]["type"]>,
  Takes<Described["Token"]["access_token"], Awaited<ReturnType<typeof ours.getToken>>>,
  Takes<Described["Address"], ours.SignOutResponse>,
  // And a session that the client shows may be one that was answered.
  Takes<ours.DefaultSession["expires"], Described["Session"]["expires"]>,
] = [true, true, true, true, true, true, true, true];

type Changed = Extract<mine.Result, { ok: true }>;
type Refused = Extract<mine.Result, { ok: false }>;
type Actions = "profile" | "signout" | "unlink" | "email" | "email/confirm" | "email/finish" | "email/cancel";
type Done<A extends Actions> = Body<paths[`/api/auth/account/${A}`]["post"]["responses"][200]>;
type Said<A extends Actions, S extends 401 | 403 | 404 | 503> = Body<paths[`/api/auth/account/${A}`]["post"]["responses"][S]>;

export const account: [
  // What GET account answers is an Account, member by member, and nothing else is.
  Same<Get<"/api/auth/account">, mine.Account>,
  Same<Awaited<ReturnType<typeof mine.getAccount>>, Get<"/api/auth/account"> | null>,
  Same<Described["Account"]["sessions"][number], mine.AccountSession>,
  Same<Described["PendingEmail"], mine.PendingAddress>,
  // What a change answers is what becomes of it in a Result.
  Same<Done<Actions>["account"], Changed["account"]>,
  Takes<Done<Actions>["url"], Changed["url"]>,
  Takes<mine.AccountError, NonNullable<Said<Actions, 401 | 403 | 404 | 503>["error"]>>,
  Takes<Said<Actions, 401 | 403 | 404 | 503>["url"], Refused["url"]>,
  // What the functions take is what the forms have fields for.
  Same<Parameters<typeof mine.updateProfile>[0], Pick<Described["ProfileRequest"], "name">>,
  Same<Parameters<typeof mine.unlinkAccount>[0], Described["UnlinkRequest"]["id"]>,
  Same<Parameters<typeof mine.changeEmail>[0], Described["ChangeEmailRequest"]["email"]>,
  Same<Parameters<typeof mine.endSession>[0], NonNullable<Described["EndSessionsRequest"]["session"]>>,
] = [true, true, true, true, true, true, true, true, true, true, true, true];
