// At the name localhost, the application passes /api/auth on by rewrites(); at 127.0.0.1,
// the route handler in app/api/auth does.
const rewrites = async () => ({
  beforeFiles: [{ source: "/api/auth/:path*", has: [{ type: "host", value: "localhost" }], destination: `${process.env.AUTHSVC_REWRITES}/api/auth/:path*` }],
})

// This folder is the whole application, even if there are lock files above it.
export default { rewrites, turbopack: { root: import.meta.dirname }, outputFileTracingRoot: import.meta.dirname }
