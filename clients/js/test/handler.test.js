// Requests that a server passes on to the service, and the answers that come back.
import assert from "node:assert/strict";
import { createServer, request as httpRequest } from "node:http";
import { createServer as createRawServer } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { auth, handler } from "../server.js";

const KEY = "k3Yof-the-front-end/9sWq+Zx71LmRb==";
const COOKIES = ["__Host-authsvc.csrf=a%7Cb; Path=/; HttpOnly", "authsvc.tx.1=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT"];

/** Listens until the test ends; returns the origin. */
async function listen(t, listener) {
  const server = createServer(listener);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** A service that records requests and answers with {status, body, headers}. */
async function service(t, answer = {}) {
  const asked = [];
  const url = await listen(t, async (req, res) => {
    asked.push({ method: req.method, url: req.url, headers: req.headers, raw: req.rawHeaders, body: await text(req) });
    const { status = 200, body = "answer", headers = {} } = answer;
    res.writeHead(status, headers);
    res.end(body);
  });
  return { url, asked, answer };
}

/** Sends a request as a browser does; fetch would change its headers. */
function send(url, { method = "GET", headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const { origin } = new URL(url);
    const sent = httpRequest(origin, { method, path: url.slice(origin.length), headers }, async (res) => resolve({ status: res.statusCode, headers: res.headers, body: await text(res) }));
    sent.on("error", reject).end(body);
  });
}

/** The parts of a Request that a handler gets, with headers that a program cannot set. */
function requestOf(path, { method = "GET", headers = {}, body } = {}) {
  return { method, url: `http://10.1.2.3:3000${path}`, headers: new Headers({ host: "app.example.com", ...headers }), body: body === undefined ? null : new Response(body).body };
}

async function shown(response) {
  return { status: response.status, headers: { ...Object.fromEntries(response.headers), "set-cookie": response.headers.getSetCookie() }, body: await response.text() };
}

// Runs the handler as each framework does, and returns the answer for the browser.
const frameworks = {
  "Next.js, app router": async (run, _, path, sent) => shown(await run(requestOf(path, sent), { params: Promise.resolve({}) })),
  SvelteKit: async (run, _, path, sent) => shown(await run({ request: requestOf(path, sent), url: new URL("http://x/"), getClientAddress: () => "198.51.100.4" })),
  Hono: async (run, _, path, sent) => shown(await run({ req: { raw: requestOf(path, sent), url: "http://x/" }, env: { incoming: { socket: { remoteAddress: "198.51.100.4" } } } }, () => assert.fail("next"))),
  "h3 with a Request": async (run, _, path, sent) => shown(await run({ req: Object.assign(requestOf(path, sent), { ip: "198.51.100.4" }), url: new URL("http://x/") })),
  "h3 on a worker": async (run, _, path, sent) => shown(await run({ web: { request: requestOf(path, sent) }, node: { req: { headers: {}, socket: {} } } })),
  "h3 on Node.js": async (run, t, path, sent) => {
    const origin = await listen(t, (req, res) => run({ node: { req, res }, get headers() { return new Headers(); }, path: req.url }));
    return send(origin + path, { ...sent, headers: { host: "app.example.com", ...sent?.headers } });
  },
  "Next.js, pages router": async (run, t, path, sent) => {
    const origin = await listen(t, (req, res) => run(req, Object.assign(res, { json: assert.fail })));
    return send(origin + path, { ...sent, headers: { host: "app.example.com", ...sent?.headers } });
  },
  Express: async (run, t, path, sent) => {
    const origin = await listen(t, (req, res) => {
      const originalUrl = req.url;
      Object.assign(req, { originalUrl, url: originalUrl.replace(/^\/api\/auth/, "") || "/" }); // as app.use("/api/auth", …) does
      run(req, res, () => res.writeHead(299).end("next"));
    });
    return send(origin + path, { ...sent, headers: { host: "app.example.com", ...sent?.headers } });
  },
};

for (const [name, run] of Object.entries(frameworks)) {
  test(`${name}: method, path, host, headers and body arrive, and status, cookies and redirects come back`, async (t) => {
    t.mock.method(console, "warn", () => {});
    const s = await service(t, { status: 302, body: "moved", headers: { location: "https://id.example/authorize?a=b", "set-cookie": COOKIES, vary: "Cookie", "cache-control": "private, no-store", etag: '"1"' } });
    const form = "csrfToken=a%7Cb&email=ada%40example.com&json=true";
    const sent = {
      cookie: "__Host-authsvc.csrf=a%7Cb; theme=dark", "content-type": "application/x-www-form-urlencoded", origin: "https://app.example.com", accept: "text/html", "accept-language": "de",
      "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "user-agent": "Mozilla/5.0", authorization: "Bearer x",
    };
    const got = await run(handler({ url: s.url, key: KEY, origin: "https://app.example.com" }), t, "/api/auth/signin/git%68ub?callbackUrl=%2Fa%3Fb%3D%252F&x=1", { method: "POST", headers: { ...sent, "content-length": String(form.length) }, body: form });
    assert.equal(s.asked.length, 1, "a redirect is followed");
    const [{ method, url, headers, body }] = s.asked;
    assert.deepEqual([method, url, body], ["POST", "/api/auth/signin/git%68ub?callbackUrl=%2Fa%3Fb%3D%252F&x=1", form]);
    for (const [header, value] of Object.entries(sent)) assert.equal(headers[header], value, header);
    assert.deepEqual([headers["x-forwarded-host"], headers["authsvc-proxy-key"], headers.host], ["app.example.com", KEY, new URL(s.url).host]);
    assert.deepEqual([got.status, got.headers.location, got.headers["set-cookie"], got.body], [302, "https://id.example/authorize?a=b", COOKIES, "moved"]);
    assert.deepEqual([got.headers.vary, got.headers["cache-control"], got.headers.etag], ["Cookie", "private, no-store", '"1"']);
  });

  test(`${name}: other paths are not passed on`, async (t) => {
    t.mock.method(console, "warn", () => {});
    const s = await service(t);
    const pass = handler({ url: s.url, key: KEY });
    const other = name === "Express" ? [299, "next"] : [404, "no such page"];
    for (const path of ["/", "/api/authx", "/api", "/other/api/auth/session", "//api/auth/session", "/api/auth/../admin", "/api/auth/%2e%2e/admin", "/api/auth/.%2E/.%2e/x", "/api/auth/..", "/API/auth/session"]) {
      const { status, body } = await run(pass, t, path);
      assert.deepEqual([status, body], other, path);
    }
    assert.deepEqual(s.asked, []);
    for (const path of ["/api/auth", "/api/auth/session", "/api/auth/a/../session", "/api/auth/..%2fadmin", "/api/auth?x"]) assert.equal((await run(pass, t, path)).status, 200, path);
    assert.deepEqual(s.asked.map(({ url }) => url), ["/api/auth", "/api/auth/session", "/api/auth/session", "/api/auth/..%2fadmin", "/api/auth?x"]);
  });

  test(`${name}: a host that is not origin's gets 421`, async (t) => {
    t.mock.method(console, "warn", () => {});
    const s = await service(t);
    const status = async (host, origin) => (await run(handler({ url: s.url, origin }), t, "/api/auth/session", { headers: { host } })).status;
    for (const host of ["app.example.com", "APP.example.com", "app.example.com:443"]) assert.equal(await status(host, "https://app.example.com"), 200, host);
    for (const host of ["evil.example", "app.example.com:80", "app.example.com.evil.example", "app.example.com,evil.example", "a@app.example.com", "app.example.com/", "app.example.com?"]) {
      assert.equal(await status(host, "https://app.example.com"), 421, host);
    }
    assert.equal(s.asked.length, 3);
    assert.equal(await status("evil.example"), 200);
    assert.equal(s.asked[3].headers["x-forwarded-host"], "evil.example", "the service judges it");
  });

  test(`${name}: a client cannot say where a request comes from`, async (t) => {
    t.mock.method(console, "warn", () => {});
    const s = await service(t);
    const forged = { "x-forwarded-host": "evil.example", "authsvc-proxy-key": "forged", forwarded: "for=1.2.3.4", "x-real-ip": "1.2.3.4", "x-forwarded-proto": "http", "x-other": "1", te: "trailers", "x-original-url": "/x", "accept-encoding": "gzip" };
    await run(handler({ url: s.url }), t, "/api/auth/session", { headers: { ...forged, "x-forwarded-for": "1.2.3.4" } });
    const [{ headers }] = s.asked;
    for (const header of ["authsvc-proxy-key", "forwarded", "x-real-ip", "x-forwarded-proto", "x-other", "te", "x-original-url"]) assert.equal(headers[header], undefined, header);
    assert.deepEqual([headers["x-forwarded-host"], headers["accept-encoding"]], ["app.example.com", "identity"]);
    // Of these addresses the service takes the last that is not a trusted proxy's.
    const peer = { SvelteKit: "198.51.100.4", Hono: "198.51.100.4", "h3 with a Request": "198.51.100.4", "Next.js, app router": undefined, "h3 on a worker": undefined };
    const last = name in peer ? peer[name] : "127.0.0.1";
    assert.equal(headers["x-forwarded-for"], last && `1.2.3.4, ${last}`);
  });

  test(`${name}: a service that does not answer gives 503, and a large body 413`, async (t) => {
    t.mock.method(console, "warn", () => {});
    const logged = t.mock.method(console, "error", () => {}).mock;
    const silent = await listen(t, () => {});
    for (const url of [silent, "http://127.0.0.1:1"]) {
      const got = await run(handler({ url, key: KEY, timeout: 50 }), t, "/api/auth/session", { headers: { cookie: "authsvc.session=abc" } });
      assert.deepEqual([got.status, got.body, got.headers["cache-control"]], [503, "sign-in is not available", "private, no-cache, no-store"]);
    }
    assert.equal(logged.callCount(), 2);
    assert.doesNotMatch(String(logged.calls.map((call) => call.arguments)), /abc|k3Yof/);
    const s = await service(t);
    for (const [size, status] of [[65536, 200], [65537, 413]]) {
      for (const chunked of [false, true]) {
        const headers = chunked ? { "transfer-encoding": "chunked" } : { "content-length": String(size) };
        assert.equal((await run(handler({ url: s.url }), t, "/api/auth/callback/x", { method: "POST", headers, body: "a".repeat(size) })).status, status, `${size} ${chunked}`);
      }
    }
    assert.deepEqual(s.asked.map(({ body }) => body.length), [65536, 65536]);
  });
}

test("answers lose what belongs to the connection, and keep the rest", async (t) => {
  const hop = { connection: "x-hop, keep-alive", "x-hop": "1", "keep-alive": "timeout=5", "proxy-authenticate": "Basic", trailer: "x-t", "alt-svc": 'h3=":443"', "strict-transport-security": "max-age=1; includeSubDomains" };
  const kept = { "content-security-policy": "default-src 'none'", "x-frame-options": "DENY", "referrer-policy": "same-origin", "www-authenticate": "Bearer", "retry-after": "7", "content-type": "text/html; charset=utf-8", "access-control-allow-origin": "https://www.example.com" };
  const s = await service(t, { status: 401, headers: { ...hop, ...kept } });
  const got = await frameworks["Next.js, pages router"](handler({ url: s.url }), t, "/api/auth/session");
  for (const [name, value] of Object.entries(kept)) assert.equal(got.headers[name], value, name);
  for (const name of ["x-hop", "proxy-authenticate", "trailer", "alt-svc", "strict-transport-security"]) assert.equal(got.headers[name], undefined, name);
});

test("a compressed answer arrives whole, by fetch and by the client of Node.js", async (t) => {
  const packed = gzipSync("the page");
  const s = await service(t, { body: packed, headers: { "content-encoding": "gzip", "content-length": String(packed.length) } });
  const options = { url: s.url, clientAddress: () => null };
  const decoded = await handler({ ...options, fetch })(requestOf("/api/auth/signin"));
  assert.deepEqual([await decoded.text(), decoded.headers.get("content-encoding"), decoded.headers.get("content-length")], ["the page", null, null]);
  const raw = await handler(options)(requestOf("/api/auth/signin"));
  assert.deepEqual([raw.headers.get("content-encoding"), Buffer.from(await raw.arrayBuffer())], ["gzip", packed]);
});

test("an answer that breaks off, or is none, gives 503 and does not end the program", async (t) => {
  const logged = t.mock.method(console, "error", () => {}).mock;
  for (const [answer, status] of [
    ["HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer", 200],
    ["HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer", 200],
    ["HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart", 503],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n", 503],
    ["HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", 503],
    ["HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", 503],
    ["nonsense\r\n\r\n", 503],
    ["", 503],
  ]) {
    const server = createRawServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(answer));
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close());
    const before = logged.callCount();
    const pass = handler({ url: `http://127.0.0.1:${server.address().port}` });
    const got = await frameworks["Next.js, pages router"](pass, t, "/api/auth/session");
    assert.deepEqual([got.status, got.body], [status, status === 200 ? "answer" : "sign-in is not available"], answer);
    assert.equal(logged.callCount() - before, status === 200 ? 0 : 1, answer);
  }
});

test("answers without a body, and HEAD", async (t) => {
  for (const [status, method] of [[204, "OPTIONS"], [304, "GET"], [200, "HEAD"]]) {
    const s = await service(t, { status, body: "" });
    for (const name of ["SvelteKit", "Express"]) {
      const got = await frameworks[name](handler({ url: s.url }), t, "/api/auth/session", { method });
      assert.deepEqual([got.status, got.body, s.asked.at(-1).method], [status, "", method]);
    }
  }
  const refused = await handler({ url: "http://127.0.0.1:1" })(requestOf("/api/auth/session", { method: "TRACE" }));
  assert.equal(refused.status, 405);
});

test("a form that a parser in front has read arrives", async (t) => {
  const s = await service(t);
  const json = "application/json; charset=utf-8";
  for (const [type, body, want] of [
    ["application/x-www-form-urlencoded", { email: "ada@example.com", a: ["1", "2"] }, "email=ada%40example.com&a=1&a=2"],
    ["application/x-www-form-urlencoded", "email=a%2bb", "email=a%2bb"],
    [json, { csrfToken: "x", data: { name: "Ada" } }, '{"csrfToken":"x","data":{"name":"Ada"}}'],
    ["application/x-www-form-urlencoded", Buffer.from("a=1"), "a=1"],
    ["application/x-www-form-urlencoded", undefined, ""],
    ["application/x-www-form-urlencoded", { a: { b: "nested" } }, null],
  ]) {
    const origin = await listen(t, async (req, res) => {
      await buffer(req);
      req.body = body;
      handler({ url: s.url })(req, res);
    });
    const before = s.asked.length;
    const got = await send(`${origin}/api/auth/signin/email`, { method: "POST", headers: { "content-type": type }, body: "read" });
    assert.deepEqual([got.status, s.asked[before]?.body], want === null ? [400, undefined] : [200, want], JSON.stringify(body));
  }
});

test("headers that the application has set are replaced, except Vary and cookies", async (t) => {
  const s = await service(t, { headers: { "x-frame-options": "DENY", vary: "Cookie", "set-cookie": COOKIES } });
  const origin = await listen(t, (req, res) => {
    res.setHeader("X-Frame-Options", "SAMEORIGIN");
    res.setHeader("Vary", "Origin");
    res.setHeader("Set-Cookie", "own=1");
    handler({ url: s.url })(req, res);
  });
  const { headers } = await send(`${origin}/api/auth/signin`);
  assert.deepEqual([headers["x-frame-options"], headers.vary, headers["set-cookie"]], ["DENY", "Origin, Cookie", ["own=1", ...COOKIES]]);
});

test("clientAddress replaces what the handler knows of the address", async (t) => {
  const s = await service(t);
  const request = requestOf("/api/auth/session", { headers: { "x-forwarded-for": "1.2.3.4, 198.51.100.4" } });
  for (const [given, want] of [["203.0.113.7", "203.0.113.7"], [request.headers.get("x-forwarded-for"), "1.2.3.4, 198.51.100.4"], [null, undefined], [undefined, undefined], ["", undefined]]) {
    let got;
    await handler({ url: s.url, clientAddress: (one) => ((got = one), given) })(request);
    assert.equal(s.asked.at(-1).headers["x-forwarded-for"], want);
    assert.equal(got, request);
  }
  const logged = t.mock.method(console, "error", () => {}).mock;
  assert.equal((await handler({ url: s.url, clientAddress: () => "1.2.3.4\r\nx-evil: 1" })(request)).status, 503);
  assert.equal(logged.callCount(), 1);
});

test("it is said once if the addresses of clients are not known", async (t) => {
  const s = await service(t);
  const fresh = await import("../handler.js?once");
  const warned = t.mock.method(console, "warn", () => {}).mock;
  await fresh.handler({ url: s.url, clientAddress: () => null })(requestOf("/api/auth/session"));
  await frameworks.SvelteKit(fresh.handler({ url: s.url }), t, "/api/auth/session");
  assert.equal(warned.callCount(), 0);
  for (let i = 0; i < 3; i++) await fresh.handler({ url: () => s.url })(requestOf("/api/auth/session"));
  assert.equal(warned.callCount(), 1);
  assert.match(warned.calls[0].arguments[0], /set clientAddress/);
});

test("a path of url replaces /api/auth, and functions are called for each request", async (t) => {
  const s = await service(t);
  let [url, key] = [`${s.url}/my/auth/`, KEY];
  const pass = handler({ url: () => url, key: () => key, clientAddress: () => null });
  assert.equal((await pass(requestOf("/my/auth/session"))).status, 200);
  assert.equal((await pass(requestOf("/api/auth/session"))).status, 404);
  assert.deepEqual(s.asked.map((one) => [one.url, one.headers["authsvc-proxy-key"]]), [["/my/auth/session", KEY]]);
  for (const wrong of [undefined, "", "short", `${KEY}\n`, `${KEY}é`]) {
    key = wrong;
    await assert.rejects(pass(requestOf("/my/auth/session")), TypeError, String(wrong));
  }
  [url, key] = ["", KEY];
  await assert.rejects(pass(requestOf("/my/auth/session")), TypeError);
  assert.equal(s.asked.length, 1);
});

test("wrong options throw a TypeError at once", () => {
  for (const url of [undefined, "", "auth.internal:3000", "/api/auth", "ftp://x", "http://a:b@x", "http://x?y", "http://x#y"]) assert.throws(() => handler({ url }), TypeError, url);
  for (const more of [{ key: "short" }, { key: "" }, { key: null }, { key: "a".repeat(31) }, { key: `${KEY} ` }, { origin: "app.example.com" }, { origin: "https://app.example.com/" }]) {
    assert.throws(() => handler({ url: "http://x", ...more }), TypeError, JSON.stringify(more));
  }
  assert.throws(() => handler(), TypeError);
  assert.throws(() => handler({ url: undefined }), { message: "authsvc: url is not set; if it is an environment variable, set that" });
  handler({ url: new URL("http://x"), key: KEY, origin: "https://app.example.com" });
});

test("what is no request is a TypeError", async () => {
  for (const wrong of [undefined, null, {}, "GET /", { headers: {} }, { request: {} }]) await assert.rejects(handler({ url: "http://x" })(wrong), TypeError);
});

test("without the HTTP client of Node.js, fetch passes requests on", async (t) => {
  const s = await service(t, { status: 303, headers: { location: "/", "set-cookie": COOKIES } });
  const calls = [];
  const plain = globalThis.fetch;
  t.mock.method(globalThis, "fetch", (url, init) => (calls.push(init), plain(url, init)));
  t.mock.method(process, "getBuiltinModule", () => undefined);
  const got = await handler({ url: s.url, key: KEY, clientAddress: () => "203.0.113.7" })(requestOf("/api/auth/signout", { method: "POST", headers: { cookie: "a=b" }, body: "csrfToken=x" }));
  assert.deepEqual([got.status, got.headers.getSetCookie(), s.asked[0].body, s.asked[0].headers["x-forwarded-for"]], [303, COOKIES, "csrfToken=x", "203.0.113.7"]);
  assert.deepEqual(calls.map(({ redirect, cache }) => [redirect, cache]), [["manual", "no-store"]]);
});

test("cache is an option only where Request has it", async (t) => {
  const own = Object.getOwnPropertyDescriptor(Request.prototype, "cache");
  t.after(() => Object.defineProperty(Request.prototype, "cache", own));
  const calls = [];
  const fetch = async (_, init) => (calls.push("cache" in init), Response.json({}));
  const ask = async () => {
    await auth({ cookie: "authsvc.session=1" }, { url: "http://x", fetch });
    await handler({ url: "http://x", fetch, clientAddress: () => null })(requestOf("/api/auth/session"));
  };
  await ask();
  delete Request.prototype.cache; // as in Workers of older compatibility dates
  await ask();
  assert.deepEqual(calls, [true, true, false, false]);
});

test("an answer arrives while the service still writes it", async (t) => {
  let more;
  const url = await listen(t, (req, res) => {
    res.writeHead(200, { "content-type": "text/plain" }).write("first");
    more = () => res.end(" second");
  });
  const response = await handler({ url, clientAddress: () => null })(requestOf("/api/auth/account/export"));
  const reader = response.body.getReader();
  assert.equal(new TextDecoder().decode((await reader.read()).value), "first");
  more();
  assert.equal(new TextDecoder().decode((await reader.read()).value), " second");
  assert.equal((await reader.read()).done, true);
});
