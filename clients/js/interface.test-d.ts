// Checked by `npm run test:types`; never run. The types of client.d.ts and those of
// docs/openapi.yaml say the same.
import type * as ours from "authsvc-client";
import type { components, paths } from "authsvc-client/types";

type Described = components["schemas"];
type Body<R> = R extends { content: { "application/json": infer B } } ? B : never;
type Get<P extends keyof paths> = paths[P] extends { get: { responses: { 200: infer R } } } ? Body<R> : never;
type Takes<A, B> = [A] extends [B] ? true : false;

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
