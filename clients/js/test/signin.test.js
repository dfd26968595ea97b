import assert from "node:assert/strict";
import { test } from "node:test";
import { CSRF, ORIGIN, json, load, open } from "./browser.js";

const BASE = `${ORIGIN}/api/auth`;
const HERE = `${ORIGIN}/page?x=1`;

/** Opens a page whose service answers a sign-in with reply. */
async function page(t, path, reply) {
  const browser = open(t);
  if (reply) browser.answer(path, reply);
  return { browser, client: await load() };
}

function form(call) {
  assert.equal(call.method, "POST");
  assert.ok(call.body instanceof URLSearchParams, "fetch then sets the form content type");
  return Object.fromEntries(call.body);
}

const elsewhere = [
  ["providers unreachable", () => Promise.reject(new TypeError("fetch failed")), ["github"], `${BASE}/error`],
  ["no providers", () => json({}), ["github"], `${BASE}/error`],
  ["no provider", null, [], `${BASE}/signin?callbackUrl=${encodeURIComponent(HERE)}`],
  ["an event, as from onClick={signIn}", null, [{ type: "click" }], `${BASE}/signin?callbackUrl=${encodeURIComponent(HERE)}`],
  ["unknown provider", null, ["nope", { callbackUrl: "/a?b" }], `${BASE}/signin?callbackUrl=%2Fa%3Fb`],
  ["a name that every object has", null, ["toString"], `${BASE}/signin?callbackUrl=${encodeURIComponent(HERE)}`],
];
for (const [name, reply, args, want] of elsewhere) {
  test(`signIn goes to another page: ${name}`, async (t) => {
    const { browser, client } = await page(t, "providers", reply);
    assert.equal(await client.signIn(...args), undefined);
    assert.deepEqual(browser.location.visited, [want]);
    assert.deepEqual(browser.calls.map((call) => call.path), ["providers"]);
    const warned = name === "unknown provider" || name.startsWith("a name");
    assert.deepEqual(browser.warnings, warned ? [`authsvc: no provider "${args[0]}"; known: github, email, password`] : []);
  });
}

const posts = [
  ["oauth", ["github"], "signin/github", { callbackUrl: HERE }],
  ["email", ["email", { email: "ada@example.com" }], "signin/email", { email: "ada@example.com", callbackUrl: HERE }],
  ["credentials", ["password", { username: "ada" }], "callback/password", { username: "ada", callbackUrl: HERE }],
  ["callbackUrl", ["github", { callbackUrl: "/next" }], "signin/github", { callbackUrl: "/next" }],
  ["callbackUrl undefined", ["github", { callbackUrl: undefined }], "signin/github", { callbackUrl: HERE }],
  ["link", ["github", { link: "true" }], "signin/github", { link: "true", callbackUrl: HERE }],
  ["empty options", ["github", null], "signin/github", { callbackUrl: HERE }],
  ["null, undefined, false, 0", ["github", { a: null, b: undefined, c: false, d: 0 }], "signin/github", { c: "false", d: "0", callbackUrl: HERE }],
  ["options cannot replace the token", ["github", { csrfToken: "x", json: "x" }], "signin/github", { callbackUrl: HERE }],
];
for (const [name, args, path, fields] of posts) {
  test(`signIn posts: ${name}`, async (t) => {
    const { browser, client } = await page(t, path, () => json({ url: "https://idp.example/authorize" }));
    assert.equal(await client.signIn(...args), undefined);
    const [call] = browser.called(path);
    assert.equal(call.url, `${BASE}/${path}`);
    assert.deepEqual(form(call), { ...fields, csrfToken: CSRF, json: "true" });
    assert.deepEqual(browser.location.visited, ["https://idp.example/authorize"]);
  });
}

for (const params of [{ prompt: "a b" }, "prompt=a+b", [["prompt", "a b"]], new URLSearchParams({ prompt: "a b" })]) {
  test(`signIn appends authorizationParams: ${params.constructor.name}`, async (t) => {
    const { browser, client } = await page(t, "signin/github", () => json({ url: HERE }));
    await client.signIn("github", {}, params);
    assert.equal(browser.called("signin/github")[0].url, `${BASE}/signin/github?prompt=a+b`);
  });
}

test("signIn escapes the provider's id", async (t) => {
  const { browser, client } = await page(t, "providers", () => json({ "a/../b": { type: "oauth" } }));
  browser.answer("signin/a%2F..%2Fb", () => json({ url: HERE }));
  await client.signIn("a/../b");
  assert.equal(browser.called("signin/a%2F..%2Fb").length, 1);
});

test("signIn without a token omits the field, so that the service refuses", async (t) => {
  const { browser, client } = await page(t, "signin/github", () => json({ url: `${BASE}/signin?csrf=true` }));
  browser.answer("csrf", () => json({}, 500));
  await client.signIn("github");
  assert.deepEqual(form(browser.called("signin/github")[0]), { callbackUrl: HERE, json: "true" });
  assert.deepEqual(browser.location.visited, [`${BASE}/signin?csrf=true`]);
});

test("signIn with redirect: false counts only for email and credentials", async (t) => {
  const { browser, client } = await page(t, "signin/github", () => json({ url: "https://idp.example/" }));
  assert.equal(await client.signIn("github", { redirect: false }), undefined);
  assert.deepEqual(browser.location.visited, ["https://idp.example/"]);
  assert.equal(form(browser.called("signin/github")[0]).redirect, "false");
});

const results = [
  ["credentials accepted", "password", () => json({ url: `${ORIGIN}/next` }), { error: null, status: 200, ok: true, url: `${ORIGIN}/next` }],
  ["credentials refused", "password", () => json({ url: `${BASE}/error?error=CredentialsSignin` }, 401), { error: "CredentialsSignin", status: 401, ok: false, url: null }],
  ["mail sent", "email", () => json({ url: `${BASE}/verify-request` }), { error: null, status: 200, ok: true, url: `${BASE}/verify-request` }],
  ["mail failed", "email", () => json({ url: `${BASE}/error?error=EmailSignin` }), { error: "EmailSignin", status: 200, ok: true, url: null }],
  ["refused without an error word", "email", () => json({ url: `${BASE}/signin?csrf=true` }, 403), { error: "Default", status: 403, ok: false, url: null }],
  ["refused without a url", "password", () => json({}, 429), { error: "Default", status: 429, ok: false, url: null }],
  ["refused with null", "password", () => json(null, 503), { error: "Default", status: 503, ok: false, url: null }],
  ["a relative url", "password", () => json({ url: "/next" }), { error: null, status: 200, ok: true, url: `${ORIGIN}/next` }],
];
for (const [name, provider, reply, want] of results) {
  test(`signIn with redirect: false: ${name}`, async (t) => {
    const path = provider === "email" ? "signin/email" : "callback/password";
    const { browser, client } = await page(t, path, reply);
    const heard = [];
    client.onSessionChange((session) => heard.push(session));
    assert.deepEqual(await client.signIn(provider, { redirect: false }), want);
    assert.deepEqual(browser.location.visited, []);
    assert.equal(heard.length, want.ok ? 1 : 0, "listeners are called for a session that may be new");
    const told = provider === "password" && want.ok;
    assert.deepEqual(browser.messages.map((m) => m.data.trigger), told ? ["getSession"] : []);
  });
}

const codes = [
  ["accepted", undefined, () => json({ url: `${ORIGIN}/next` }), { error: null, status: 200, ok: true, url: `${ORIGIN}/next` }],
  ["wrong", undefined, () => json({ url: `${BASE}/verify-request?error=Code&left=4` }, 401), { error: "Code", status: 401, ok: false, url: null }],
  ["of another provider", "post", () => json({ url: `${ORIGIN}/next` }), { error: null, status: 200, ok: true, url: `${ORIGIN}/next` }],
];
for (const [name, provider, reply, want] of codes) {
  test(`submitCode: ${name}`, async (t) => {
    const path = `callback/${provider ?? "email"}`;
    const { browser, client } = await page(t, path, reply);
    if (provider) browser.answer("providers", () => json({ post: { type: "email" } }));
    const heard = [];
    client.onSessionChange((session) => heard.push(session));
    assert.deepEqual(await client.submitCode("ada@example.com", "1234 5678", { provider, redirect: false, callbackUrl: "/next" }), want);
    assert.deepEqual(form(browser.called(path)[0]), { email: "ada@example.com", code: "1234 5678", redirect: "false", callbackUrl: "/next", csrfToken: CSRF, json: "true" });
    assert.deepEqual(browser.location.visited, []);
    assert.equal(heard.length, want.ok ? 1 : 0);
    assert.deepEqual(browser.messages.map((m) => m.data.trigger), want.ok ? ["getSession"] : [], "other tabs are notified");
  });
}

test("submitCode continues to the url of the service", async (t) => {
  const { browser, client } = await page(t, "callback/email", () => json({ url: `${ORIGIN}/next` }));
  assert.equal(await client.submitCode("ada@example.com", "12345678"), undefined);
  assert.equal(form(browser.called("callback/email")[0]).callbackUrl, HERE);
  assert.deepEqual(browser.location.visited, [`${ORIGIN}/next`]);
});

test("a code counts only for email providers", async (t) => {
  const { browser, client } = await page(t, "signin/github", () => json({ url: HERE }));
  await client.signIn("github", { code: "12345678" });
  assert.equal(browser.called("signin/github").length, 1);
});

const rejections = [
  ["no network", () => Promise.reject(new TypeError("fetch failed")), TypeError],
  ["not JSON", () => new Response("<html>"), SyntaxError],
];
for (const [name, reply, error] of rejections) {
  test(`signIn and signOut reject, as next-auth's do: ${name}`, async (t) => {
    const { browser, client } = await page(t, "signin/github", reply);
    browser.answer("signout", reply);
    await assert.rejects(client.signIn("github"), error);
    await assert.rejects(client.signOut(), error);
    assert.deepEqual(browser.location.visited, []);
    assert.deepEqual(browser.messages, []);
  });
}

const destinations = [
  ["the service's url", { url: "https://idp.example/a" }, "/next", "https://idp.example/a", 0],
  ["callbackUrl if there is none", {}, "/next", `${ORIGIN}/next`, 0],
  ["but not to another origin", {}, "https://evil.example/", HERE, 0],
  ["nor to a script", {}, "javascript:alert(1)", HERE, 0],
  ["a fragment of this page is loaded again", { url: `${HERE}#top` }, "/", `${HERE}#top`, 1],
  ["an empty one too", { url: `${HERE}#` }, "/", `${HERE}#`, 1],
  ["a fragment of another page is loaded only once", { url: `${ORIGIN}/next#top` }, "/", `${ORIGIN}/next#top`, 0],
];
for (const [name, answer, callbackUrl, want, reloads] of destinations) {
  test(`where signIn goes: ${name}`, async (t) => {
    const { browser, client } = await page(t, "signin/github", () => json(answer));
    await client.signIn("github", { callbackUrl });
    assert.deepEqual(browser.location.visited, [want]);
    assert.equal(browser.location.reloads, reloads);
  });
}
