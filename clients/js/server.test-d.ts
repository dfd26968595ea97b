// Checked by `npm run test:types`; never run.
import { auth, handler, hydrate, passOn, protect } from "authsvc-client/server";
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

// As a route handler of each framework. The types are those of the frameworks, without the rest.
const pass = handler({ ...options, key: () => "k", clientAddress: (r: Request) => r.headers.get("x-forwarded-for") });
interface NextRequest extends Request {
  nextUrl: URL;
}
export const app: { GET: (request: NextRequest, context: { params: Promise<object> }) => Response | Promise<Response>; POST: (request: NextRequest) => Promise<Response> } = { GET: pass, POST: pass };
// next build infers the parameters and the result of a route from its type, and compares them.
type First<T> = T extends (...args: [infer A, any]) => any ? (unknown extends A ? any : A) : never;
type Second<T> = T extends (...args: [any, infer A]) => any ? (unknown extends A ? any : A) : never;
type Within<Base, T extends Base> = T;
export type NextRoute = [
  Within<NextRequest | Request, First<typeof pass>>,
  Within<{ params: Promise<object> }, Second<typeof pass>>,
  Within<Response | void | Promise<Response | void>, ReturnType<typeof pass>>,
];
interface ServerResponse {
  statusCode: number;
  setHeader(name: string, value: string): this;
  appendHeader(name: string, value: string): this;
  end(data?: unknown): this;
  json(body: unknown): void;
}
export const pages: (req: { headers: IncomingHttpHeaders; query: object }, res: ServerResponse) => unknown = pass;
export const use: (req: { headers: IncomingHttpHeaders }, res: ServerResponse, next: (error?: any) => void) => void | Promise<void> = pass;
export const route: (c: { req: { raw: Request }; env: object }, next: () => Promise<void>) => Promise<Response | void> = pass;
export const kit: (event: { request: Request; url: URL; getClientAddress(): string }) => Response | Promise<Response> = pass;
export const nuxt: (event: { node: { req: object; res: object }; web?: { request?: Request }; path: string }) => unknown = pass;
export const nuxt2: (event: { req: Request; url: URL }) => unknown = pass;
export const given: Response = await handler({ url: new URL("https://auth.example.com"), key: "k", origin: "https://app.example.com", timeout: 1000, fetch })(request);
declare const variable: string | undefined; // as process.env has it
export const fromEnvironment = [handler({ url: () => variable, key: () => variable }), protect({ url: variable }), auth(request, { url: variable })];

// Lines that must not compile.
// @ts-expect-error url is missing
handler({ key: "k" });
// @ts-expect-error an option of protect
handler({ ...options, signIn: "/" });
// @ts-expect-error a key is text
handler({ ...options, key: 1 });
// @ts-expect-error neither a request nor an event
handler(options)("/api/auth/session");
// @ts-expect-error url is missing
auth(request, {});
// @ts-expect-error an option that does not exist
protect({ ...options, callbackUrl: "/" });
// @ts-expect-error a session may be null
(await auth(request, options)).session.expires;
// @ts-expect-error a handler answers
protect(options, () => "text");
