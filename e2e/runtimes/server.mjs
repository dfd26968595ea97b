// A server of Deno or Bun that lets signed-in people through. AUTHSVC says where
// to ask; the port is printed.
import { protect } from "authsvc-client/server"

const url = globalThis.Deno?.env.get("AUTHSVC") ?? globalThis.Bun.env.AUTHSVC
const fetch = protect({ url, timeout: 60000 }, (request, session) => Response.json(session))
const hostname = "127.0.0.1"

if (globalThis.Deno) Deno.serve({ hostname, port: 0, onListen: ({ port }) => console.log(port) }, fetch)
else console.log(Bun.serve({ hostname, port: 0, fetch }).port)
