// Makes the prisma command use drivers instead of its own engine, which it would
// have to download.
import { PrismaLibSQL } from "@prisma/adapter-libsql"
import { PrismaPg } from "@prisma/adapter-pg"

const url = process.env.DATABASE_URL
const drivers = {
  postgresql: () => new PrismaPg({ connectionString: url }),
  sqlite: () => new PrismaLibSQL({ url }),
}

export default {
  schema: process.env.PRISMA_SCHEMA,
  experimental: { adapter: true },
  engine: "js",
  adapter: async () => drivers[process.env.PRISMA_PROVIDER](),
}
