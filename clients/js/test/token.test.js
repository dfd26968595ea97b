// getToken, with the answers of POST token that the interface describes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CSRF, SESSION, json, load, open } from "./browser.js";

const AUDIENCE = "https://api.example.com";

/** A page whose service mints token-1, token-2 and so on, for 5 minutes. */
async function minting(t, expires_in = 300) {
  t.mock.timers.enable({ apis: ["Date"], now: 1_800_000_000_000 });
  const browser = open(t);
  let minted = 0;
  browser.answer("token", (_, { body }) => {
    const { csrfToken, audience } = JSON.parse(body);
    assert.equal(csrfToken, CSRF);
    return json({ access_token: `${audience ?? "only"} ${++minted}`, token_type: "Bearer", expires_in });
  });
  return { browser, client: await load() };
}

test("getToken sends a POST with the audience and the CSRF token", async (t) => {
  const { browser, client } = await minting(t);
  assert.equal(await client.getToken(AUDIENCE), `${AUDIENCE} 1`);
  const [{ method, headers, body, credentials }] = browser.called("token");
  assert.deepEqual([method, headers["Content-Type"], credentials], ["POST", "application/json", "same-origin"]);
  assert.deepEqual(JSON.parse(body), { csrfToken: CSRF, audience: AUDIENCE });
  assert.equal(await client.getToken(), "only 2");
  assert.ok(!("audience" in JSON.parse(browser.called("token")[1].body)));
});

test("a token is kept until a minute before it expires", async (t) => {
  const { browser, client } = await minting(t);
  for (const [seconds, want] of [[0, 1], [239, 1], [1, 2], [239, 2], [1, 3]]) {
    t.mock.timers.tick(seconds * 1000);
    assert.equal(await client.getToken(AUDIENCE), `${AUDIENCE} ${want}`);
  }
  assert.equal(browser.called("token").length, 3);
});

test("each audience has its own token, and concurrent callers share it", async (t) => {
  const { browser, client } = await minting(t);
  const got = await Promise.all([client.getToken("a"), client.getToken("b"), client.getToken("a")]);
  assert.deepEqual(got, ["a 1", "b 2", "a 1"]);
  assert.equal(browser.called("token").length, 2);
});

test("a token that expires within a minute, or has no valid lifetime, is not kept", async (t) => {
  for (const expires_in of [60, 1, 0, -5, null, "soon"]) {
    const { client } = await minting(t, expires_in);
    await client.getToken("a");
    assert.equal(await client.getToken("a"), "a 2", String(expires_in));
    t.mock.timers.reset();
  }
});

test("a refusal is undefined and logged, and the next call asks again", async (t) => {
  const { browser, client } = await minting(t);
  for (const status of [400, 401, 403, 429, 503]) {
    browser.answer("token", () => json({ title: "no" }, status));
    assert.equal(await client.getToken(AUDIENCE), undefined);
  }
  assert.equal(browser.logs.length, 5);
  browser.answer("token", () => json({ access_token: "good", token_type: "Bearer", expires_in: 300 }));
  assert.equal(await client.getToken(AUDIENCE), "good");
});

test("no user gets the token of an earlier user", async (t) => {
  const { browser, client } = await minting(t);
  browser.answer("signout", () => json({ url: "https://app.example.com/" }));
  browser.answer("callback/password", () => json({ url: "https://app.example.com/" }));
  let n = 1;
  assert.equal(await client.getToken("a"), `a ${n}`);
  for (const change of [
    () => client.signOut({ redirect: false }),
    () => client.signIn("password", { redirect: false }),
    () => client.update({ name: "Ada" }),
    () => browser.storage('{"event":"session","data":{"trigger":"signout"},"timestamp":1}'),
  ]) {
    await change();
    assert.equal(await client.getToken("a"), `a ${++n}`, String(change));
  }
  await client.getSession();
  browser.storage("not a message");
  assert.equal(await client.getToken("a"), `a ${n}`);
});

test("a token that was requested before a sign-out is not kept after it", async (t) => {
  const { browser, client } = await minting(t);
  browser.answer("signout", () => json({ url: "https://app.example.com/" }));
  let answer;
  const slow = new Promise((resolve) => (answer = resolve));
  browser.answer("token", () => slow);
  const before = client.getToken("a");
  await client.signOut({ redirect: false });
  browser.answer("token", () => json({ access_token: "new", expires_in: 300 }));
  answer(json({ access_token: "old", expires_in: 300 }));
  await before;
  assert.equal(await client.getToken("a"), "new");
});

test("messages of other tabs drop tokens, even without listeners", async (t) => {
  const { browser, client } = await minting(t);
  const end = client.onSessionChange(() => {});
  await client.getToken("a");
  end();
  browser.answer("session", () => json(SESSION));
  browser.storage('{"event":"session","data":{"trigger":"signout"},"timestamp":1}');
  assert.equal(await client.getToken("a"), "a 2");
});

test("without a message, tokens are dropped if the session shows another user, or the tab was left", async (t) => {
  const { browser, client } = await minting(t);
  await client.getSession();
  assert.equal(await client.getToken("a"), "a 1");
  await client.getSession();
  assert.equal(await client.getToken("a"), "a 1");
  for (const user of [{ name: "Bob" }, undefined]) {
    browser.answer("session", () => json(user ? { ...SESSION, user } : {}));
    await client.getSession({ broadcast: false });
    assert.equal(await client.getToken("a"), user ? "a 2" : "a 3");
  }
  browser.answer("session", () => json({}, 503));
  await client.getSession();
  assert.equal(await client.getToken("a"), "a 3");
  for (const listener of browser.visibilityListeners) listener({ type: "visibilitychange" });
  assert.equal(await client.getToken("a"), "a 4");
});
