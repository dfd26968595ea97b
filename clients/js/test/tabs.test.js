// Messages between tabs, and listeners.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SESSION, json, load, open } from "./browser.js";

const SIGNED_OUT = '{"event":"session","data":{"trigger":"signout"},"timestamp":1}';

/** Waits until everything in progress has finished. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

async function listening(t) {
  const browser = open(t);
  const client = await load();
  const heard = [];
  const end = client.onSessionChange((session) => heard.push(session));
  return { browser, client, heard, end };
}

test("getSession tells other tabs in next-auth's format", async (t) => {
  const browser = open(t);
  const client = await load();
  const before = Math.floor(Date.now() / 1000);
  await client.getSession();
  const [{ key, event, data, timestamp }] = browser.messages;
  assert.deepEqual({ key, event, data }, { key: "nextauth.message", event: "session", data: { trigger: "getSession" } });
  assert.ok(Number.isInteger(timestamp) && timestamp >= before && timestamp <= Date.now() / 1000);
});

test("two messages within a second differ, or the second would fire no event", async (t) => {
  const browser = open(t);
  const client = await load();
  await client.getSession();
  await client.getSession();
  assert.notEqual(browser.messages[0].value, browser.messages[1].value);
});

test("getSession with broadcast: false notifies no tabs", async (t) => {
  const browser = open(t);
  const client = await load();
  assert.deepEqual(await client.getSession({ broadcast: false }), SESSION);
  assert.deepEqual(browser.messages, []);
});

test("disabled storage is not an error", async (t) => {
  const browser = open(t);
  globalThis.localStorage.setItem = () => {
    throw new DOMException("denied", "SecurityError");
  };
  const client = await load();
  assert.deepEqual(await client.getSession(), SESSION);
  assert.deepEqual(browser.logs, []);
});

test("after another tab's message, listeners get the session, and no message is sent back", async (t) => {
  const { browser, heard } = await listening(t);
  browser.storage(SIGNED_OUT);
  await settled();
  browser.answer("session", () => json({}));
  browser.storage(SIGNED_OUT);
  await settled();
  assert.deepEqual(heard, [SESSION, null]);
  assert.deepEqual(browser.messages, []);
});

const ignored = [
  ["another key", SIGNED_OUT, "other"],
  ["a cleared storage", null, null],
  ["a removed key", null],
  ["no JSON", "{"],
  ["null", "null"],
  ["another event", '{"event":"other","data":{}}'],
  ["no data", '{"event":"session"}'],
];
for (const [name, value, key] of ignored) {
  test(`not a message: ${name}`, async (t) => {
    const { browser, heard } = await listening(t);
    browser.storage(value, key);
    await settled();
    assert.deepEqual([heard, browser.calls], [[], []]);
  });
}

test("a session that cannot be read is not reported as signed out", async (t) => {
  const { browser, heard } = await listening(t);
  browser.answer("session", () => json({}, 503));
  browser.storage(SIGNED_OUT);
  await settled();
  assert.deepEqual(heard, []);
  assert.equal(browser.logs.length, 1);
});

test("if an older reading ends after a newer one, the newer one counts", async (t) => {
  const { browser, heard } = await listening(t);
  const pending = [];
  browser.answer("session", () => new Promise((resolve) => pending.push(resolve)));
  browser.storage(SIGNED_OUT);
  browser.storage(SIGNED_OUT);
  await settled();
  pending[1](json({}));
  await settled();
  pending[0](json(SESSION));
  await settled();
  assert.deepEqual(heard, [null]);
});

test("update reaches this tab's listeners and other tabs", async (t) => {
  const { browser, client, heard } = await listening(t);
  await client.update();
  assert.deepEqual(heard, [SESSION]);
  assert.deepEqual(browser.messages.map((m) => m.data.trigger), ["getSession"]);
});

test("unsubscribing ends that subscription only, and may be repeated", async (t) => {
  const { browser, client, heard, end } = await listening(t);
  const again = [];
  const listener = (session) => again.push(session);
  const endFirst = client.onSessionChange(listener);
  client.onSessionChange(listener);
  end();
  end();
  endFirst();
  await client.update();
  assert.deepEqual([heard, again], [[], [SESSION]]);
  assert.equal(browser.storageListeners.size, 1);
});

test("without listeners, no storage events are handled and nothing is read", async (t) => {
  const { browser, client, end } = await listening(t);
  end();
  assert.equal(browser.storageListeners.size, 0);
  browser.answer("signout", () => json({ url: "https://app.example.com/" }));
  await client.signOut({ redirect: false });
  assert.equal(browser.called("session").length, 0);
});

test("a listener that throws is reported and does not stop others", async (t) => {
  const { client, heard } = await listening(t);
  const thrown = [];
  t.mock.method(globalThis, "queueMicrotask", (task) => {
    try {
      task();
    } catch (error) {
      thrown.push(error.message);
    }
  });
  client.onSessionChange(() => {
    throw new Error("boom");
  });
  client.onSessionChange((session) => heard.push(session));
  await client.update();
  assert.deepEqual(heard, [SESSION, SESSION]);
  assert.deepEqual(thrown, ["boom"]);
});
