// A server of Deno or Bun that passes /api/auth on to the service at AUTHSVC. It prints
// its port.
import { handler } from "authsvc-client/server"

const env = (name) => globalThis.Deno?.env.get(name) ?? globalThis.Bun.env[name]
const hostname = "127.0.0.1"
let address = () => ""
const pass = handler({ url: env("AUTHSVC"), key: env("AUTHSVC_PROXY_KEY"), clientAddress: (request) => address(request) })

if (globalThis.Deno) {
  const peers = new WeakMap()
  address = (request) => peers.get(request)
  const fetch = (request, info) => (peers.set(request, info.remoteAddr.hostname), pass(request))
  Deno.serve({ hostname, port: 0, onListen: ({ port }) => console.log(port) }, fetch)
} else {
  const server = Bun.serve({ hostname, port: 0, fetch: (request) => pass(request) })
  address = (request) => server.requestIP(request)?.address
  console.log(server.port)
}
