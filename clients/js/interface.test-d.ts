// Checked by `npm run test:types`; never run. The types of client.d.ts and account.d.ts
// agree with the types of docs/openapi.yaml.
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
  // The answers have the types that the functions promise, with and without a session.
  Takes<Described["Session"], ours.DefaultSession>,
  Takes<Get<"/api/auth/session">, Described["Session"] | Record<string, never> | null>,
  Takes<Get<"/api/auth/csrf">["csrfToken"], Awaited<ReturnType<typeof ours.getCsrfToken>>>,
  Takes<Omit<Get<"/api/auth/providers">[string], "type">, Omit<ours.ClientSafeProvider, "type">>,
  Takes<ours.ProviderType, Get<"/api/auth/providers">[string]["type"]>,
  Takes<Described["Token"]["access_token"], Awaited<ReturnType<typeof ours.getToken>>>,
  Takes<Described["Address"], ours.SignOutResponse>,
  // A session that the client shows can come from an answer.
  Takes<ours.DefaultSession["expires"], Described["Session"]["expires"]>,
] = [true, true, true, true, true, true, true, true];

type Changed = Extract<mine.Result, { ok: true }>;
type Refused = Extract<mine.Result, { ok: false }>;
type Actions = "profile" | "signout" | "unlink" | "email" | "email/confirm" | "email/finish" | "email/cancel";
type Done<A extends Actions> = Body<paths[`/api/auth/account/${A}`]["post"]["responses"][200]>;
type Said<A extends Actions, S extends 401 | 403 | 404 | 503> = Body<paths[`/api/auth/account/${A}`]["post"]["responses"][S]>;

export const account: [
  // The answer of GET account has exactly the members of Account.
  Same<Get<"/api/auth/account">, mine.Account>,
  Same<Awaited<ReturnType<typeof mine.getAccount>>, Get<"/api/auth/account"> | null>,
  Same<Described["Account"]["sessions"][number], mine.AccountSession>,
  Same<Described["PendingEmail"], mine.PendingAddress>,
  // The answer to a change has the members of a Result.
  Same<Done<Actions>["account"], Changed["account"]>,
  Takes<Done<Actions>["url"], Changed["url"]>,
  Takes<mine.AccountError, NonNullable<Said<Actions, 401 | 403 | 404 | 503>["error"]>>,
  Takes<Said<Actions, 401 | 403 | 404 | 503>["url"], Refused["url"]>,
  // The functions take the same fields as the forms.
  Same<Parameters<typeof mine.updateProfile>[0], Pick<Described["ProfileRequest"], "name">>,
  Same<Parameters<typeof mine.unlinkAccount>[0], Described["UnlinkRequest"]["id"]>,
  Same<Parameters<typeof mine.changeEmail>[0], Described["ChangeEmailRequest"]["email"]>,
  Same<Parameters<typeof mine.endSession>[0], NonNullable<Described["EndSessionsRequest"]["session"]>>,
] = [true, true, true, true, true, true, true, true, true, true, true, true];
