// Unmodified next-auth 4 behind Node's own HTTP server, for bench.
//
//   node server.mjs ADDRESS jwt|database SECRET FILE PEOPLE
//
// With "database", it creates the SQLite database FILE with PEOPLE users. The session
// of user i has the token session-i.
import { createServer } from "node:http"
import { createRequire } from "node:module"
import { KyselyAdapter, KyselyAuth } from "@auth/kysely-adapter"
import { LibsqlDialect } from "@libsql/kysely-libsql"

const require = createRequire(import.meta.url)
// Not exported, so it is imported by its path.
const { AuthHandler } = require("./node_modules/next-auth/core/index.js")
const [address, strategy, secret, file, people] = process.argv.slice(2)

async function store() {
  const db = new KyselyAuth({ dialect: new LibsqlDialect({ url: "file:" + file }) })
  const text = (table, ...names) => names.reduce((t, name) => t.addColumn(name, "text"), table)
  const tables = db.schema
  await text(tables.createTable("User").addColumn("id", "text", (c) => c.primaryKey()), "name", "email", "emailVerified", "image").execute()
  await text(tables.createTable("Session").addColumn("id", "text", (c) => c.primaryKey()).addColumn("sessionToken", "text", (c) => c.unique()), "userId", "expires").execute()
  const day = 24 * 3600 * 1000
  for (let i = 0; i < Number(people); i++) {
    await db.insertInto("User").values({
      id: `user-${i}`, name: `Person ${i}`, email: `person${i}@mail.example`, emailVerified: null,
      image: `https://images.example/avatars/${i}.png`,
    }).execute()
    await db.insertInto("Session").values({
      id: `id-${i}`, sessionToken: `session-${i}`, userId: `user-${i}`, expires: new Date(Date.now() + 30 * day).toISOString(),
    }).execute()
  }
  return KyselyAdapter(db)
}

const options = {
  adapter: strategy === "database" ? await store() : undefined,
  secret, session: { strategy }, providers: [], logger: { debug() {}, warn() {}, error: console.error },
}

const cookiesOf = (header = "") =>
  Object.fromEntries(header.split("; ").map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]))

const cookieLine = ({ name, value, options: o }) =>
  `${name}=${value}; Path=${o.path ?? "/"}; HttpOnly; SameSite=${o.sameSite}` + (o.expires ? `; Expires=${o.expires.toUTCString()}` : "")

const server = createServer(async (request, response) => {
  const answer = await AuthHandler({
    options,
    req: {
      action: request.url.split("/")[3], method: request.method, headers: request.headers, query: {},
      cookies: cookiesOf(request.headers.cookie), body: {}, origin: `http://${address}`,
    },
  })
  for (const { key, value } of answer.headers ?? []) response.setHeader(key, value)
  response.setHeader("Set-Cookie", (answer.cookies ?? []).map(cookieLine))
  const body = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body)
  response.setHeader("Content-Length", Buffer.byteLength(body))
  response.writeHead(answer.status ?? 200).end(body)
})
const [host, port] = address.split(":")
server.listen(Number(port), host)
