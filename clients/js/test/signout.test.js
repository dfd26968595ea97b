import assert from "node:assert/strict";
import { test } from "node:test";
import { CSRF, ORIGIN, json, load, open } from "./browser.js";

const HERE = `${ORIGIN}/page?x=1`;

async function page(t, answer) {
  const browser = open(t);
  browser.answer("signout", () => json(answer));
  return { browser, client: await load() };
}

const leaving = [
  ["by default back here", undefined, HERE],
  ["to callbackUrl", { callbackUrl: "/bye" }, "/bye"],
  ["redirect undefined", { redirect: undefined }, HERE],
];
for (const [name, options, callbackUrl] of leaving) {
  test(`signOut leaves: ${name}`, async (t) => {
    const { browser, client } = await page(t, { url: `${ORIGIN}/bye` });
    assert.equal(await client.signOut(options), undefined);
    const [call] = browser.called("signout");
    assert.equal(call.method, "POST");
    assert.deepEqual(Object.fromEntries(call.body), { callbackUrl, csrfToken: CSRF, json: "true" });
    assert.deepEqual(browser.location.visited, [`${ORIGIN}/bye`]);
    assert.deepEqual(browser.messages.map((m) => m.data.trigger), ["signout"]);
  });
}

test("signOut with redirect: false stays, returns the answer and tells listeners", async (t) => {
  const { browser, client } = await page(t, { url: `${ORIGIN}/bye` });
  browser.answer("session", () => json({}));
  const heard = [];
  client.onSessionChange((session) => heard.push(session));
  assert.deepEqual(await client.signOut({ redirect: false }), { url: `${ORIGIN}/bye` });
  assert.deepEqual(browser.location.visited, []);
  assert.deepEqual(heard, [null]);
  assert.deepEqual(browser.messages.map((m) => m.data.trigger), ["signout"]);
});
