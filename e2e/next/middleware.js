// At the edge, before the pages: people without a session sign in first.
import { NextResponse } from "next/server"
import { protect } from "authsvc-client/server"

export const middleware = protect({ url: () => process.env.AUTHSVC_URL }, () => NextResponse.next())

export const config = { matcher: ["/account", "/classic"] }
