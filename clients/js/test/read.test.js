// getSession, getCsrfToken, getProviders and update: they never reject.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CSRF, ORIGIN, PROVIDERS, SESSION, json, load, open } from "./browser.js";

const failures = [
  ["an error status", () => json({ message: "no" }, 503)],
  ["an error status without JSON", () => new Response("Bad Gateway", { status: 502 })],
  ["an answer that is not JSON", () => new Response("<html>")],
  ["no network", () => Promise.reject(new TypeError("fetch failed"))],
];
const reads = [
  ["getSession", "session", SESSION, SESSION, null],
  ["getProviders", "providers", PROVIDERS, PROVIDERS, null],
  ["getCsrfToken", "csrf", { csrfToken: CSRF }, CSRF, undefined],
];

for (const [name, path, body, want, nothing] of reads) {
  test(`${name} returns the answer of the service`, async (t) => {
    const browser = open(t);
    browser.answer(path, () => json(body));
    const client = await load();
    assert.deepEqual(await client[name](), want);
    assert.deepEqual(browser.calls.map((call) => [call.url, call.method]), [
      [`${ORIGIN}/api/auth/${path}`, undefined],
    ]);
    assert.deepEqual(browser.logs, []);
  });

  for (const empty of [{}, null]) {
    test(`${name} of ${JSON.stringify(empty)} is ${nothing}, silently`, async (t) => {
      const browser = open(t);
      browser.answer(path, () => json(empty));
      const client = await load();
      assert.equal(await client[name](), nothing);
      assert.deepEqual(browser.logs, []);
    });
  }

  for (const [failure, reply] of failures) {
    test(`${name} with ${failure} is ${nothing}, logged`, async (t) => {
      const browser = open(t);
      browser.answer(path, reply);
      const client = await load();
      assert.equal(await client[name](), nothing);
      assert.equal(browser.logs.length, 1);
      assert.match(browser.logs[0][0], new RegExp(`/api/auth/${path}:$`));
    });
  }
}

test("update posts token and data, and returns the new session", async (t) => {
  const browser = open(t);
  const client = await load();
  assert.deepEqual(await client.update({ name: "Ada" }), SESSION);
  const [call] = browser.called("session");
  assert.equal(call.method, "POST");
  assert.deepEqual(call.headers, { "Content-Type": "application/json" });
  assert.deepEqual(JSON.parse(call.body), { csrfToken: CSRF, data: { name: "Ada" } });
});

test("update without data posts the token alone", async (t) => {
  const browser = open(t);
  const client = await load();
  await client.update();
  assert.deepEqual(JSON.parse(browser.called("session")[0].body), { csrfToken: CSRF });
});

for (const [failure, reply] of [["no session", () => json({})], ...failures]) {
  test(`update with ${failure} is null and notifies no listeners or tabs`, async (t) => {
    const browser = open(t);
    browser.answer("session", reply);
    const client = await load();
    const heard = [];
    client.onSessionChange((session) => heard.push(session));
    assert.equal(await client.update(), null);
    assert.deepEqual(heard, []);
    assert.deepEqual(browser.messages, []);
  });
}
