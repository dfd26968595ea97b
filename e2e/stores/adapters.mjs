// Runs one adapter of Auth.js, unmodified, for stores_test.go. Each line on standard
// input is a call in JSON; each line on standard output is its answer.
//
//   node adapters.mjs pg|kysely|prisma postgresql|mysql|sqlite URL [CLIENT]
//
// CLIENT is the directory of the generated Prisma client. A call is a method of the
// adapter, or "request", which a whole next-auth@4 or @auth/core answers with the
// adapter.
import { createInterface } from "node:readline"
import { createRequire } from "node:module"
import { Auth } from "@auth/core"
import { CompiledQuery } from "kysely"

const require = createRequire(import.meta.url)
const [kind, database, url, client] = process.argv.slice(2)

// By default, libsql does not wait while another process writes, and keeps its
// own lock after a refusal.
const patience = "PRAGMA busy_timeout = 60000"

const kysely = {
  async postgresql() {
    const { PostgresDialect } = await import("kysely")
    return new PostgresDialect({ pool: await pool() })
  },
  async mysql() {
    const { MysqlDialect } = await import("kysely")
    const { createPool } = await import("mysql2")
    // Without a time zone the driver would write local time.
    return new MysqlDialect({ pool: createPool({ uri: url, timezone: "Z" }) })
  },
  async sqlite() {
    const { LibsqlDialect } = await import("@libsql/kysely-libsql")
    return new LibsqlDialect({ url })
  },
}

const prisma = {
  async postgresql() {
    const { PrismaPg } = await import("@prisma/adapter-pg")
    return new PrismaPg({ connectionString: url })
  },
  async mysql() {
    const { PrismaMariaDb } = await import("@prisma/adapter-mariadb")
    return new PrismaMariaDb(url.replace(/^mysql:/, "mariadb:"))
  },
  async sqlite() {
    const { PrismaLibSQL } = await import("@prisma/adapter-libsql")
    return new PrismaLibSQL({ url }, { timestampFormat: process.env.TIMESTAMP_FORMAT ?? "iso8601" })
  },
}

const adapters = {
  async pg() {
    const { default: PostgresAdapter } = await import("@auth/pg-adapter")
    return PostgresAdapter(await pool())
  },
  async kysely() {
    const { KyselyAdapter, KyselyAuth } = await import("@auth/kysely-adapter")
    const db = new KyselyAuth({ dialect: await kysely[database]() })
    if (database === "sqlite") await db.executeQuery(CompiledQuery.raw(patience))
    return KyselyAdapter(db)
  },
  async prisma() {
    const { PrismaAdapter } = await import("@auth/prisma-adapter")
    const { PrismaClient } = require(client)
    const db = new PrismaClient({ adapter: await prisma[database]() })
    if (database === "sqlite") await db.$queryRawUnsafe(patience)
    return PrismaAdapter(db)
  },
}

async function pool() {
  const { default: pg } = await import("pg")
  return new pg.Pool({ connectionString: url, max: 4 })
}

const quiet = { debug() {}, warn() {}, error(...about) { console.error(...about) } }

// No mail is sent; its link is part of the answer.
function email(links) {
  return {
    id: "email", type: "email", name: "Email", from: "no-reply@app.test", maxAge: 600, options: {},
    sendVerificationRequest: ({ url }) => void links.push(url),
  }
}

const libraries = {
  async v4(request, options) {
    // Not exported, so it is imported by its path.
    const { AuthHandler } = require("./node_modules/next-auth/core/index.js")
    const url = new URL(request.url)
    const [action, providerId] = url.pathname.split("/").slice(3)
    const answer = await AuthHandler({
      options,
      req: {
        action, providerId, method: request.method, headers: {}, query: Object.fromEntries(url.searchParams),
        cookies: request.cookies ?? {}, body: request.form ?? {}, origin: url.origin,
      },
    })
    const cookies = Object.fromEntries((answer.cookies ?? []).map(({ name, value }) => [name, value]))
    return { status: answer.status ?? 200, location: answer.redirect ?? "", body: answer.body ?? null, cookies }
  },
  async v5(request, options) {
    const headers = new Headers()
    headers.set("cookie", Object.entries(request.cookies ?? {}).map(([name, value]) => `${name}=${value}`).join("; "))
    const body = request.form && new URLSearchParams(request.form)
    const answer = await Auth(new Request(request.url, { method: request.method, headers, body }), {
      ...options, trustHost: true, basePath: "/api/auth",
    })
    const cookies = {}
    for (const line of answer.headers.getSetCookie()) {
      const [pair] = line.split(";")
      cookies[pair.slice(0, pair.indexOf("="))] = decodeURIComponent(pair.slice(pair.indexOf("=") + 1))
    }
    const text = await answer.text()
    return { status: answer.status, location: answer.headers.get("location") ?? "", body: json(text), cookies }
  },
}

const json = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const adapter = await adapters[kind]()

async function request(call) {
  const links = []
  const options = {
    adapter, secret: call.secret, session: { strategy: "database" }, providers: [email(links)], logger: quiet,
  }
  return { ...(await libraries[call.lib](call, options)), links }
}

// JSON has no dates; values with these two names are always dates.
const revive = (name, value) =>
  (name === "expires" || name === "emailVerified") && typeof value === "string" ? new Date(value) : value

for await (const line of createInterface({ input: process.stdin })) {
  const { op, args } = JSON.parse(line, revive)
  let answer
  try {
    const value = op === "request" ? await request(...args) : await adapter[op](...args)
    answer = { value: value ?? null }
  } catch (error) {
    answer = { error: String(error?.stack ?? error) }
  }
  process.stdout.write(JSON.stringify(answer) + "\n")
}
process.exit(0)
