// node frontend.mjs express|hono: a server that passes /api/auth on to the service at
// AUTHSVC. It prints its port.
import express from "express"
import { Hono } from "hono"
import { serve } from "@hono/node-server"
import { handler } from "authsvc-client/server"

const pass = handler({ url: process.env.AUTHSVC, key: process.env.AUTHSVC_PROXY_KEY })
const hostname = "127.0.0.1"

if (process.argv[2] === "express") {
  const app = express()
  app.use(express.urlencoded())
  app.use("/api/auth", pass)
  const server = app.listen(0, hostname, () => console.log(server.address().port))
} else {
  const app = new Hono()
  app.all("/api/auth/*", pass)
  serve({ fetch: app.fetch, hostname, port: 0 }, ({ port }) => console.log(port))
}
