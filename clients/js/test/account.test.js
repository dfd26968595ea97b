// account.js, with the answers that the interface describes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CSRF, ORIGIN, json, loadAccount, open } from "./browser.js";

const ACCOUNT = { user: { id: "1", name: "Ada" }, accounts: [{ id: "a", provider: "github", name: "GitHub", removable: true }] };

test("getAccount asks for JSON", async (t) => {
  const browser = open(t);
  browser.answer("account", () => json(ACCOUNT));
  const account = await loadAccount();
  assert.deepEqual(await account.getAccount(), ACCOUNT);
  const [{ headers, credentials }] = browser.called("account");
  assert.deepEqual([headers.Accept, credentials], ["application/json", "same-origin"]);
});

test("getAccount without a session is null, and a failure is logged", async (t) => {
  const browser = open(t);
  browser.answer("account", () => json({ error: "SessionRequired" }, 401));
  const account = await loadAccount();
  assert.equal(await account.getAccount(), null);
  assert.equal(browser.logs.length, 0);
  browser.answer("account", () => json({}, 503));
  assert.equal(await account.getAccount(), null);
  assert.equal(browser.logs.length, 1);
});

test("a change is a POST with the token, and notifies other tabs", async (t) => {
  const browser = open(t);
  browser.answer("account/profile", (_, { body }) => {
    const { csrfToken, name, json: asked, callbackUrl } = JSON.parse(body);
    assert.deepEqual([csrfToken, name, asked, callbackUrl], [CSRF, "Ada", "true", browser.location.href]);
    return json({ url: `${ORIGIN}/api/auth/account`, account: ACCOUNT });
  });
  const account = await loadAccount();
  assert.deepEqual(await account.updateProfile({ name: "Ada" }), { ok: true, account: ACCOUNT, url: `${ORIGIN}/api/auth/account` });
  assert.equal(browser.messages.length, 1);
});

test("a change of address is requested, confirmed, finished and cancelled", async (t) => {
  const browser = open(t);
  const sent = (path) => browser.answer(path, (_, { body }) => {
    const { email, id, code, token, stop } = JSON.parse(body);
    return json({ url: JSON.stringify({ email, id, code, token, stop }), account: ACCOUNT });
  });
  ["account/email", "account/email/confirm", "account/email/finish", "account/email/cancel"].forEach(sent);
  const account = await loadAccount();
  const fields = async (result) => JSON.parse((await result).url);
  assert.deepEqual(await fields(account.changeEmail("new@example.com")), { email: "new@example.com" });
  assert.deepEqual(await fields(account.confirmEmail({ id: "i", code: "1234 5678" })), { id: "i", code: "1234 5678" });
  assert.deepEqual(await fields(account.confirmEmail({ id: "i", token: "t", stop: true })), { id: "i", token: "t", stop: "true" });
  assert.deepEqual(await fields(account.finishEmailChange()), {});
  assert.deepEqual(await fields(account.cancelEmailChange()), {});
});

test("sessions end, and an account is deleted and kept", async (t) => {
  const browser = open(t);
  const sent = (path) => browser.answer(path, (_, { body }) => {
    const { session, others, confirm } = JSON.parse(body);
    return json({ url: JSON.stringify({ session, others, confirm }), account: path === "account/delete" ? null : ACCOUNT });
  });
  ["account/signout", "account/delete", "account/keep"].forEach(sent);
  const account = await loadAccount();
  const fields = async (result) => JSON.parse((await result).url);
  assert.deepEqual(await fields(account.endSession("s")), { session: "s" });
  assert.deepEqual(await fields(account.endOtherSessions()), { others: "true" });
  assert.deepEqual(await fields(account.deleteAccount("ada@example.com")), { confirm: "ada@example.com" });
  assert.equal((await account.deleteAccount("delete")).account, null);
  assert.deepEqual(await fields(account.keepAccount()), {});
  assert.equal(browser.messages.length, 5);
});

test("a page of one's own begins the proof by the chosen way", async (t) => {
  const browser = open(t);
  browser.answer("confirm", (_, { method, body }) => {
    const { csrfToken, provider, callbackUrl, confirm } = JSON.parse(body);
    assert.deepEqual([method, csrfToken, provider, callbackUrl, confirm], ["POST", CSRF, "github", "/pay", undefined]);
    return json({ url: "https://github.example/authorize" });
  });
  browser.answer("callback/password", (_, { body }) => {
    const { provider, confirm, username, password, callbackUrl } = JSON.parse(body);
    assert.deepEqual([provider, confirm, username, password, callbackUrl], [undefined, "true", "ada", "right", "/pay"]);
    return json({ url: `${ORIGIN}/pay` });
  });
  const { confirmIdentity } = await loadAccount();
  await confirmIdentity({ provider: "github", callbackUrl: "/pay" });
  assert.equal(browser.location.href, "https://github.example/authorize");
  await confirmIdentity({ provider: "password", callbackUrl: "/pay", username: "ada", password: "right" });
  assert.equal(browser.location.href, `${ORIGIN}/pay`);
  // A refusal leads back with its word; without an answer, to the page that asks again.
  browser.answer("confirm", () => json({ url: `${ORIGIN}/api/auth/confirm?error=NotFound`, error: "NotFound" }, 404));
  await confirmIdentity({ provider: "gone", callbackUrl: "/pay" });
  assert.equal(browser.location.href, `${ORIGIN}/api/auth/confirm?error=NotFound`);
  browser.answer("confirm", () => new Response("not JSON", { status: 502 }));
  await confirmIdentity({ provider: "github", callbackUrl: "/pay" });
  assert.equal(browser.location.href, `${ORIGIN}/api/auth/confirm?callbackUrl=%2Fpay`);
  assert.equal(browser.logs.length, 1);
});

test("a refusal has its error word, its status and its url", async (t) => {
  const browser = open(t);
  const account = await loadAccount();
  for (const [status, error] of [[401, "FreshRequired"], [404, "NotFound"], [409, "LastMethod"]]) {
    browser.answer("account/unlink", () => json({ url: "https://x", error }, status));
    assert.deepEqual(await account.unlinkAccount("a"), { ok: false, error, status, url: "https://x" });
  }
  browser.answer("account/unlink", () => new Response(`{"url":"https://x","error":"Unavailable"}`, { status: 503, headers: { "Retry-After": "5" } }));
  assert.equal((await account.unlinkAccount("a")).retryAfter, 5);
  browser.answer("account/unlink", () => new Response("not JSON", { status: 502 }));
  assert.deepEqual(await account.unlinkAccount("a"), { ok: false, error: "Default", status: 0, url: null });
  assert.equal(browser.messages.length, 0);
});

test("linkAccount asks to link, and confirmIdentity goes to the page", async (t) => {
  const browser = open(t);
  browser.answer("signin/github", (_, { body }) => {
    assert.equal(new URLSearchParams(body).get("link"), "true");
    return json({ url: "https://github.example/authorize" });
  });
  const account = await loadAccount();
  await account.linkAccount("github");
  assert.equal(browser.location.href, "https://github.example/authorize");
  await account.confirmIdentity({ callbackUrl: "/pay" });
  assert.equal(browser.location.href, `${ORIGIN}/api/auth/confirm?callbackUrl=%2Fpay`);
});
