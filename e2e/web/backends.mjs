// node backends.mjs URL: servers below /express, /hono and /plain that read the session
// from the service at URL, and pages that contain the session, /first?NAME. It prints
// the port.
import express from "express"
import { Hono } from "hono"
import { getRequestListener } from "@hono/node-server"
import { auth, hydrate, passOn, protect } from "authsvc-client/server"

const options = { url: process.argv[2], timeout: 60000 }

const hono = new Hono()
hono.use("/hono/*", protect(options))
hono.all("/hono/me", (c) => c.json(c.get("auth")))

const plain = protect(options, (request, session) => Response.json(session))

const first = async (request) => {
  const { session, cookies } = await auth(request, options)
  const name = new URL(request.url).search.slice(1)
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>App</title>
<div id="root"></div>${hydrate(session)}
<script>
  window.seen = []
  new MutationObserver(() => {
    const now = document.getElementById("status")?.textContent
    if (now && now !== window.seen.at(-1)) window.seen.push(now)
  }).observe(document.getElementById("root"), { subtree: true, childList: true, characterData: true })
</script>
<script src="/${encodeURIComponent(name)}.js"></script>`
  const headers = { "content-type": "text/html; charset=utf-8", "cache-control": "private, no-store" }
  return passOn(cookies, new Response(page, { headers }))
}

const app = express()
app.use("/express", protect(options))
app.all("/express/me", (req, res) => res.json(req.auth))
app.use("/hono", (req, res) => getRequestListener(hono.fetch)(Object.assign(req, { url: req.originalUrl }), res))
app.use("/plain", (req, res) => getRequestListener(plain)(Object.assign(req, { url: req.originalUrl }), res))
app.use("/first", (req, res) => getRequestListener(first)(Object.assign(req, { url: req.originalUrl }), res))
const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port))
