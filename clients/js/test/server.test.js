// The requests of a server to the service, and its use of the answers.
import assert from "node:assert/strict";
import { createServer, request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { AuthError, auth, hydrate, passOn, protect } from "../server.js";

const SESSION = { user: { name: "Ada" }, expires: "2030-01-01T00:00:00.000Z" };
const OWN = "__Host-authsvc.session=abc";

/** Listens until the test ends; returns the origin. */
async function listen(t, handler) {
  const server = createServer(handler);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: `http://127.0.0.1:${server.address().port}` };
}

/** A service that answers with {status, body, headers} and records the requests. */
async function service(t, answer = {}) {
  const asked = [];
  const { server, url } = await listen(t, (req, res) => {
    asked.push({ method: req.method, path: req.url, ...req.headers });
    const { status = 200, body = SESSION, headers = {} } = answer;
    res.writeHead(status, { "content-type": "application/json", ...headers });
    res.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  return { url, asked, answer, server };
}

const requestOf = (cookie, more = {}) => new Request("https://app.example.com/a?b=1", { headers: { cookie, ...more } });
const quiet = (t) => t.mock.method(console, "error", () => {}).mock;

test("auth asks GET session with the session cookie alone", async (t) => {
  const s = await service(t);
  const cookie = `theme=dark; ${OWN}; __Host-authsvc.csrf=x; authsvc.tx.1=y; __Host-authsvc.session.0=p; __Host-authsvc.session.1=q`;
  const request = requestOf(cookie, { authorization: "Bearer x", "x-forwarded-host": "evil.example", host: "evil.example", "x-other": "1" });
  assert.deepEqual(await auth(request, { url: s.url }), { session: SESSION, cookies: [] });
  const [{ method, path, host, cookie: sent, authorization, "x-forwarded-host": forwarded, "x-other": other }] = s.asked;
  assert.deepEqual(
    { method, path, host, sent, authorization, forwarded, other },
    {
      method: "GET", path: "/api/auth/session", host: new URL(s.url).host, authorization: undefined, forwarded: undefined, other: undefined,
      sent: `${OWN}; __Host-authsvc.session.0=p; __Host-authsvc.session.1=q`,
    },
  );
});

test("the cookie has the name of any compat, or the configured one", async (t) => {
  const s = await service(t);
  const sent = async (cookie, more) => {
    s.asked.length = 0;
    await auth({ cookie }, { url: s.url, ...more });
    return s.asked[0]?.cookie;
  };
  for (const name of ["authsvc.session", "__Secure-authsvc.session", "next-auth.session-token", "__Secure-next-auth.session-token", "authjs.session-token", "__Secure-authjs.session-token.3"]) {
    assert.equal(await sent(`${name}=1`), `${name}=1`);
    assert.equal(await sent(`x${name}=1; ${name}x=1; ${name}`), undefined, name);
  }
  assert.equal(await sent("mine=1; mine.0=2; mine2=3; authsvc.session=4", { cookie: "mine" }), "mine=1; mine.0=2");
});

test("a cookie that could break out of the header is not sent", async (t) => {
  const s = await service(t);
  for (const value of ["a\r\nx-evil: 1", "a\nb", "a\0b", "a b", "ä", "\u2028"]) {
    assert.deepEqual(await auth({ cookie: `authsvc.session=${value}` }, { url: s.url }), { session: null, cookies: [] });
  }
  assert.equal(s.asked.length, 0);
});

test("without a session cookie there is no session, and the service is not asked", async (t) => {
  const s = await service(t);
  for (const request of [requestOf("theme=dark"), new Request("https://app.example.com"), { headers: {} }, {}, new Headers()]) {
    assert.deepEqual(await auth(request, { url: s.url }), { session: null, cookies: [] });
  }
  assert.equal(s.asked.length, 0);
});

test("a request may have any shape", async (t) => {
  const s = await service(t);
  for (const request of [requestOf(OWN), { headers: { cookie: OWN } }, new Headers({ cookie: OWN }), { cookie: OWN }, { raw: requestOf(OWN), header() {} }, { headers: new Headers({ cookie: OWN }) }]) {
    assert.deepEqual((await auth(request, { url: s.url })).session, SESSION);
  }
});

test("{} and null are no session", async (t) => {
  for (const body of ["{}", "null"]) {
    const s = await service(t, { body });
    assert.deepEqual(await auth(requestOf(OWN), { url: s.url }), { session: null, cookies: [] });
  }
});

test("renewed session cookies are returned, other cookies are not", async (t) => {
  const renewed = ["__Host-authsvc.session=new; Path=/; Expires=Wed, 01 Jan 2030 00:00:00 GMT; HttpOnly; Secure; SameSite=Lax", "__Host-authsvc.session.1=; Path=/; Max-Age=0"];
  const s = await service(t, { headers: { "set-cookie": ["AWSALB=sticky; Path=/", ...renewed] } });
  assert.deepEqual((await auth(requestOf(OWN), { url: s.url })).cookies, renewed);
});

test("anything but a session rejects", async (t) => {
  const answers = [
    { status: 421, body: "this host is not served here" }, { status: 503 }, { status: 500 }, { status: 401 }, { status: 204, body: "" }, { status: 201 },
    { status: 302, headers: { location: "/elsewhere" } }, { body: "<html>" }, { body: "" }, { body: "[]" }, { body: '"text"' }, { body: "1" }, { body: "true" },
  ];
  for (const answer of answers) {
    const s = await service(t, answer);
    await assert.rejects(auth(requestOf(OWN), { url: s.url }), (error) => error instanceof AuthError && error.name === "AuthError" && !error.message.includes("abc"), JSON.stringify(answer));
    assert.ok(s.asked.every((one) => one.path === "/api/auth/session"), "a redirect is followed");
  }
});

test("a service that cannot be reached, or does not answer in time, rejects", async (t) => {
  const silent = await listen(t, () => {});
  await assert.rejects(auth(requestOf(OWN), { url: silent.url, timeout: 20 }), AuthError);
  const slow = await listen(t, (req, res) => res.writeHead(200).write('{"user":'));
  await assert.rejects(auth(requestOf(OWN), { url: slow.url, timeout: 20 }), AuthError);
  await assert.rejects(auth(requestOf(OWN), { url: "http://127.0.0.1:1" }), AuthError);
});

test("one connection serves many requests, even with refusals", async (t) => {
  const s = await service(t);
  const connections = new Set();
  s.server.on("connection", (socket) => connections.add(socket));
  for (let i = 0; i < 20; i++) {
    s.answer.status = i % 5 === 4 ? 503 : 200;
    await auth(requestOf(OWN), { url: s.url }).catch(() => {});
  }
  assert.equal(s.asked.length, 20);
  assert.ok(connections.size <= 2, `${connections.size} connections`);
});

test("nothing is stored: each request is a new question, with no-store", async () => {
  const calls = [];
  const fetch = async (url, init) => {
    calls.push(init);
    return Response.json(calls.length > 1 ? {} : SESSION);
  };
  const options = { url: "http://auth.internal:3000/my/auth/", fetch };
  assert.deepEqual((await auth(requestOf(OWN), options)).session, SESSION);
  assert.equal((await auth(requestOf(OWN), options)).session, null);
  assert.deepEqual(calls.map(({ cache, redirect }) => [cache, redirect]), [["no-store", "manual"], ["no-store", "manual"]]);
});

test("wrong options throw a TypeError, in protect at once", async () => {
  for (const url of [undefined, "", "auth.internal:3000", "/api/auth", "ftp://x", "http://a:b@x", "http://x?y", "http://x#y", "javascript:alert(1)"]) {
    await assert.rejects(auth(requestOf(OWN), { url }), TypeError, url);
    assert.throws(() => protect({ url }), TypeError, url);
  }
  await assert.rejects(auth(requestOf(OWN)), TypeError);
  for (const more of [{ origin: "app.example.com" }, { origin: "https://app.example.com/" }, { trustedOrigins: ["https://*.example.com/x"] }]) {
    assert.throws(() => protect({ url: "http://x", ...more }), TypeError, JSON.stringify(more));
  }
  protect({ url: "http://x", origin: "https://app.example.com", trustedOrigins: ["https://www.example.com"] });
});

test("a url that is a function is called for each request, and fails closed", async (t) => {
  const s = await service(t);
  let url;
  const run = protect({ url: () => url }, () => new Response("in"));
  await assert.rejects(run(requestOf(OWN)), TypeError);
  await assert.rejects(protect({ url: () => url })({}, {}, () => assert.fail("let through")), TypeError);
  url = s.url;
  assert.equal(await (await run(requestOf(OWN))).text(), "in");
});

test("a path of url replaces /api/auth", async (t) => {
  for (const [path, want] of [["", "/api/auth"], ["/", "/api/auth"], ["/my/auth", "/my/auth"], ["/my/auth/", "/my/auth"]]) {
    const s = await service(t);
    await auth(requestOf(OWN), { url: s.url + path });
    assert.equal(s.asked[0].path, `${want}/session`);
    const response = await protect({ url: s.url + path }, () => new Response())(requestOf("", { accept: "text/html" }));
    assert.equal(response.headers.get("location"), `${want}/signin?callbackUrl=%2Fa%3Fb%3D1`);
  }
});

test("passOn keeps existing cookies", () => {
  const headers = passOn(["a=1", "b=2"], new Headers({ "set-cookie": "z=0" }));
  assert.deepEqual(headers.getSetCookie(), ["z=0", "a=1", "b=2"]);
  assert.deepEqual(passOn(["a=1"], new Response()).headers.getSetCookie(), ["a=1"]);
  const lines = [];
  passOn(["a=1"], { appendHeader: (name, value) => lines.push([name, value]) });
  assert.deepEqual(lines, [["Set-Cookie", "a=1"]]);
});

test("session data cannot break out of the script of hydrate", () => {
  const hostile = { user: { name: "</script><script>alert(1)</script><!--\u2028" } };
  const html = hydrate(hostile);
  const [, inner] = html.match(/^<script type="application\/json" id="authsvc-session">(.*)<\/script>$/s);
  assert.doesNotMatch(inner, /</);
  assert.deepEqual(JSON.parse(inner), hostile);
  for (const nobody of [null, undefined]) assert.match(hydrate(nobody), />null</);
});

// The three forms of protect, each as a function from a request to its result.
const shapes = {
  plain: (options) => async (request) => {
    let seen;
    const response = await protect(options, (_, session, more) => ((seen = [session, more]), new Response("in", { headers: { "x-app": "1" } })))(request, "more");
    if (seen) assert.equal(seen[1], "more");
    return { response, session: seen?.[0] };
  },
  hono: (options) => async (request) => {
    const vars = new Map();
    const c = {
      req: { raw: request },
      set: (name, value) => vars.set(name, value),
      header: (name, value, more) => (more?.append ? c.res.headers.append(name, value) : c.res.headers.set(name, value)),
    };
    const response = await protect(options)(c, async () => (c.res = new Response("in", { headers: { "x-app": "1" } })));
    return { response: response ?? c.res, session: vars.get("auth") };
  },
  node: (options, t) => async (request) => {
    let session;
    const middleware = protect(options);
    const { url } = await listen(t, (req, res) => {
      middleware(req, res, () => {
        session = req.auth;
        res.setHeader("x-app", "1");
        res.end("in");
      });
    });
    const { pathname, search } = new URL(request.url);
    // Not with fetch, which sends its own Sec-Fetch headers.
    const response = await new Promise((resolve, reject) => {
      const { method, headers } = request;
      const sent = httpRequest(url + pathname + search, { method, headers: Object.fromEntries(headers) }, async (res) => {
        const { statusCode: status, rawHeaders } = res;
        const pairs = rawHeaders.flatMap((name, i) => (i % 2 ? [] : [[name, rawHeaders[i + 1]]]));
        resolve(new Response(await text(res), { status, headers: pairs }));
      });
      sent.on("error", reject).end();
    });
    return { response, session };
  },
};

for (const [name, shape] of Object.entries(shapes)) {
  test(`protect, ${name}: signed in, signed out, and no answer`, async (t) => {
    const renewed = ["authsvc.session=new; Path=/; HttpOnly"];
    const s = await service(t, { headers: { "set-cookie": renewed } });
    const run = shape({ url: s.url }, t);
    let { response, session } = await run(requestOf(OWN));
    assert.deepEqual([response.status, await response.text(), session], [200, "in", SESSION]);
    assert.deepEqual(response.headers.getSetCookie(), renewed);
    const { headers } = response;
    assert.deepEqual([headers.get("x-app"), headers.get("cache-control"), headers.get("vary")], ["1", "private, no-cache, no-store", "Cookie"]);

    s.answer.body = {};
    s.answer.headers = { "set-cookie": ["authsvc.session=; Max-Age=0"] };
    ({ response, session } = await run(requestOf(OWN)));
    assert.deepEqual([response.status, await response.text(), session], [401, "sign in first", undefined]);
    assert.deepEqual(response.headers.getSetCookie(), ["authsvc.session=; Max-Age=0"], "an expired cookie is deleted");
    assert.equal(response.headers.get("cache-control"), "private, no-cache, no-store");
    ({ response } = await run(requestOf("", { accept: "text/html", "sec-fetch-mode": "navigate" })));
    assert.deepEqual([response.status, response.headers.get("location")], [302, "/api/auth/signin?callbackUrl=%2Fa%3Fb%3D1"]);
    ({ response } = await run(requestOf("", { accept: "text/html", "sec-fetch-mode": "cors" })));
    assert.equal(response.status, 401);

    const logged = quiet(t);
    s.answer.status = 503;
    ({ response, session } = await run(requestOf(OWN, { accept: "text/html" })));
    assert.deepEqual([response.status, await response.text(), session], [503, "sign-in is not available", undefined]);
    assert.equal(logged.callCount(), 1);
    assert.doesNotMatch(String(logged.calls[0].arguments), /abc/);
  });

  test(`protect, ${name}: requests of pages of other origins`, async (t) => {
    const s = await service(t);
    const trustedOrigins = ["https://www.example.com"];
    const host = "app.example.com";
    for (const [status, method, headers, more] of [
      [200, "POST", {}],
      [200, "POST", { "sec-fetch-site": "same-origin", origin: "https://app.example.com" }],
      [200, "POST", { "sec-fetch-site": "none" }],
      [403, "POST", { "sec-fetch-site": "cross-site", origin: "https://evil.example" }],
      [403, "POST", { "sec-fetch-site": "cross-site" }],
      [403, "POST", { "sec-fetch-site": "same-site", origin: "https://old.example.com" }],
      [403, "DELETE", { "sec-fetch-site": "same-site" }],
      [403, "PUT", { "sec-fetch-site": "same-origin, cross-site" }],
      [403, "POST", { origin: "https://evil.example" }],
      [403, "POST", { origin: "null" }],
      [200, "POST", { "sec-fetch-site": "same-site", origin: "https://www.example.com" }, { trustedOrigins }],
      [403, "POST", { "sec-fetch-site": "same-site", origin: "https://www.example.com.evil.example" }, { trustedOrigins }],
      [200, "POST", { origin: "https://app.example.com" }, { origin: "https://app.example.com" }],
      [403, "POST", { origin: "http://app.example.com" }, { origin: "https://app.example.com" }],
      [200, "GET", { "sec-fetch-site": "cross-site" }],
      [200, "HEAD", { "sec-fetch-site": "cross-site" }],
    ]) {
      const request = new Request(`https://${host}/`, { method, headers: { cookie: OWN, ...headers } });
      const before = s.asked.length;
      const { response, session } = await shape({ url: s.url, ...more }, t)(withForbidden(request, headers));
      assert.equal(response.status, status, JSON.stringify([method, headers, more]));
      assert.equal(session !== undefined, status === 200);
      assert.equal(s.asked.length - before, status === 200 ? 1 : 0);
    }
  });
}

// The fetch of Node.js sets these headers itself; a server's Request has them.
function withForbidden(request, headers) {
  for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
  return request;
}

test("without Sec-Fetch-Site, Origin is compared with the host", async (t) => {
  const s = await service(t);
  const run = protect({ url: s.url }, () => new Response("in"));
  for (const [status, origin] of [[200, "https://app.example.com"], [200, "http://app.example.com"], [403, "https://app.example.com.evil.example"], [403, "https://evil.example"]]) {
    const headers = { cookie: OWN, origin, host: "app.example.com" };
    assert.equal((await run(new Request("https://app.example.com/", { method: "POST", headers }))).status, status, origin);
  }
});

test("the way back is a path, whatever the request line and Host contain", async () => {
  const run = protect({ url: "http://auth.internal:3000" });
  for (const [url, want] of [
    ["/a?b=1&c=%2F", "/a?b=1&c=%2F"], ["//evil.example/x", "/x"], ["///evil.example", "/"], ["/\\evil.example", "/"], ["/.//evil.example", "/evil.example"],
    ["http://evil.example/x?y", "/x?y"], ["//", "/"], ["*", "/*"], ["/a\r\nb", "/ab"], ["", "/"], ["/ü", "/%C3%BC"], ["javascript:alert(1)", "/alert(1)"],
  ]) {
    const headers = {};
    const res = { setHeader: (name, value) => (headers[name] = value), appendHeader() {}, end() {} };
    await run({ method: "GET", url, headers: { accept: "text/html", host: "evil.example", "x-forwarded-host": "evil.example" } }, res, () => assert.fail("let through"));
    assert.equal(res.statusCode, 302);
    assert.equal(headers.Location, `/api/auth/signin?callbackUrl=${encodeURIComponent(want)}`, url);
  }
});

test("the middleware of Next.js gets a whole URL", async () => {
  const run = protect({ url: "http://auth.internal:3000" }, () => new Response());
  const request = Object.assign(requestOf("", { accept: "text/html" }), { nextUrl: new URL("https://app.example.com/a?b=1") });
  assert.equal((await run(request)).headers.get("location"), "https://app.example.com/api/auth/signin?callbackUrl=%2Fa%3Fb%3D1");
});

test("signIn and origin are for a service at another origin", async () => {
  const request = requestOf("", { accept: "text/html" });
  const to = async (more) => (await protect({ url: "http://auth.internal:3000", ...more }, () => new Response())(request)).headers.get("location");
  assert.equal(
    await to({ signIn: "https://auth.example.com/api/auth/signin", origin: "https://app.example.com" }),
    "https://auth.example.com/api/auth/signin?callbackUrl=https%3A%2F%2Fapp.example.com%2Fa%3Fb%3D1",
  );
  assert.equal(await to({ signIn: "/login?lang=de" }), "/login?lang=de&callbackUrl=%2Fa%3Fb%3D1");
});

test("a handler's own Cache-Control stays, and a response that cannot be changed is copied", async (t) => {
  const s = await service(t, { headers: { "set-cookie": "authsvc.session=new" } });
  const answer = async (response) => (await protect({ url: s.url }, () => response)(requestOf(OWN))).headers;
  assert.equal((await answer(new Response("", { headers: { "cache-control": "no-store" } }))).get("cache-control"), "no-store");
  const frozen = await answer(Response.redirect("https://app.example.com/next"));
  assert.deepEqual([frozen.get("location"), ...frozen.getSetCookie()], ["https://app.example.com/next", "authsvc.session=new"]);
});
