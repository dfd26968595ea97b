// Checked by `npm run test:types`; never run.
import { auth, hydrate, passOn, protect } from "authsvc-client/server";
import type { Found } from "authsvc-client/server";
import type { Session } from "authsvc-client";

interface Mine extends Session {
  user: NonNullable<Session["user"]> & { id: string; role: "admin" | "member" };
}
// The headers of Node.js, without @types/node.
interface IncomingHttpHeaders {
  [name: string]: string | string[] | undefined;
  cookie?: string;
  "set-cookie"?: string[];
}
declare const request: Request;
declare const incoming: { headers: IncomingHttpHeaders; url?: string };
const options = { url: "http://auth.internal:3000" };

export const found: Found = await auth(request, options);
export const email: string | null | undefined = (await auth(incoming, options)).session?.user?.email;
export const role: "admin" | "member" | undefined = (await auth<Mine>(new Headers(), options)).session?.user.role;
export const cookies: string[] = found.cookies;

// As middleware of an Express and of a Hono application.
type RequestHandler = (req: { headers: IncomingHttpHeaders }, res: object, next: (error?: any) => void) => void | Promise<void>;
export const express: RequestHandler = protect({ ...options, timeout: 1000 });
type MiddlewareHandler = (c: { req: { raw: Request } }, next: () => Promise<void>) => Promise<Response | void>;
export const hono: MiddlewareHandler = protect(options);

// A handler gets a session that is not null, and the further arguments of its runtime.
export const page: (request: Request) => Promise<Response> = protect(options, (_, session) => new Response(session.expires));
export const worker: (request: Request, env: { KEY: string }) => Promise<Response> = protect<Mine, Request, [{ KEY: string }]>(
  options,
  async (_, session, env) => new Response(session.user.id + env.KEY),
);
export const same: Response = passOn(["a=1"], new Response());
export const html: string = hydrate(null);

// Lines that must not compile.
// @ts-expect-error url is missing
auth(request, {});
// @ts-expect-error an option that does not exist
protect({ ...options, callbackUrl: "/" });
// @ts-expect-error a session may be null
(await auth(request, options)).session.expires;
// @ts-expect-error a handler answers
protect(options, () => "text");
