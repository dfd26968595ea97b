// Promises about the files themselves.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
const names = (text, pattern) => [...text.matchAll(pattern)].map((match) => match[1]).sort();

test("client.js stays under 8 KiB", () => {
  assert.ok(Buffer.byteLength(read("client.js")) < 8192);
});

test("client.js imports nothing", () => {
  assert.doesNotMatch(read("client.js"), /^import |\bimport\(|\brequire\(/m);
});

test("client.d.ts declares exactly what client.js exports", () => {
  const exported = names(read("client.js"), /^export (?:async )?function (\w+)/gm);
  const declared = names(read("client.d.ts"), /^export declare function (\w+)/gm);
  assert.ok(exported.length > 0);
  assert.deepEqual(exported, declared);
});
