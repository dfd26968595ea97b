// At the edge, before the pages: people without a session sign in first.
import { NextResponse } from "next/server"
import { protect } from "authsvc-client/server"
import { auth } from "./auth"

const ours = protect({ url: () => process.env.AUTHSVC_INTERNAL_URL }, () => NextResponse.next())

export const middleware = (request, event) => (request.nextUrl.pathname === "/five" ? auth : ours)(request, event)

export const config = { matcher: ["/account", "/classic", "/five"] }
