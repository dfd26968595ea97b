import { handler } from "authsvc-client/server";

const pass = handler({
  url: () => process.env.AUTHSVC_INTERNAL_URL,
  key: () => process.env.AUTHSVC_PROXY_KEY,
  clientAddress: (request) => request.headers.get("x-forwarded-for"),
});

export { pass as GET, pass as POST };
