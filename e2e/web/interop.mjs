// Answers calls of interop_test.go with the code of next-auth@4 and
// @auth/core, unmodified. It reads a JSON list of calls from standard input, and
// writes the list of answers to standard output.
import { createRequire } from "node:module"
import { text } from "node:stream/consumers"
import * as v5 from "next-auth-5/jwt"
// Neither package exports these, so they are imported by their paths.
import { createCSRFToken as csrfV5 } from "./node_modules/@auth/core/lib/actions/callback/oauth/csrf-token.js"
import { SessionStore as StoreV5 } from "./node_modules/@auth/core/lib/utils/cookie.js"
import { createHash as hashV5 } from "./node_modules/@auth/core/lib/utils/web.js"

const require = createRequire(import.meta.url)
const v4 = require("next-auth/jwt")
const { createCSRFToken: csrfV4 } = require("./node_modules/next-auth/core/lib/csrf-token.js")
const { SessionStore: StoreV4 } = require("./node_modules/next-auth/core/lib/cookie.js")
const { hashToken } = require("./node_modules/next-auth/core/lib/utils.js")

const quiet = { debug() {}, warn() {}, error() {} }

const cookieHeader = (cookies) =>
  Object.entries(cookies).map(([name, value]) => `${name}=${value}`).join("; ")

const libraries = {
  v4: {
    encode: ({ claims, secret, salt }) => v4.encode({ token: claims, secret, salt }),
    decode: ({ token, secret, salt }) => v4.decode({ token, secret, salt }),
    getToken: ({ cookies, secret, secure }) =>
      v4.getToken({ req: { cookies, headers: {} }, secret, secureCookie: secure, logger: quiet }),
    chunk: ({ name, token }) => pairs(new StoreV4({ name, options: {} }, { cookies: {} }, quiet).chunk(token, {})),
    csrf: ({ token, body, secret }) =>
      csrfV4({ options: { secret }, cookieValue: token, isPost: body !== undefined, bodyValue: body }),
    hash: ({ token, secret }) => hashToken(token, { provider: {}, secret }),
  },
  v5: {
    encode: ({ claims, secret, salt }) => v5.encode({ token: claims, secret, salt }),
    decode: ({ token, secret, salt }) => v5.decode({ token, secret, salt }),
    getToken: ({ cookies, secret, secure }) =>
      v5.getToken({ req: { headers: { cookie: cookieHeader(cookies) } }, secret, secureCookie: secure, logger: quiet }),
    chunk: ({ name, token }) => pairs(new StoreV5({ name, options: {} }, {}, quiet).chunk(token, {})),
    csrf: ({ token, body, secret }) =>
      csrfV5({ options: { secret }, cookieValue: token, isPost: body !== undefined, bodyValue: body }),
    hash: ({ token, secret }) => hashV5(`${token}${secret}`),
  },
}

const pairs = (cookies) => Object.fromEntries(cookies.map(({ name, value }) => [name, value]))

const answers = []
for (const call of JSON.parse(await text(process.stdin))) {
  answers.push(await libraries[call.lib][call.op](call))
}
process.stdout.write(JSON.stringify(answers))
