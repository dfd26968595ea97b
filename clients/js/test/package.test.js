// Checks of the files themselves.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const folder = new URL("..", import.meta.url);
const read = (name) => readFileSync(new URL(name, folder), "utf8");
const names = (text, pattern) => [...text.matchAll(pattern)].map((match) => match[1]).sort();
const pkg = JSON.parse(read("package.json"));
const entries = Object.entries(pkg.exports).filter(([, target]) => target.types);

test("client.js stays under 10 KiB", () => {
  assert.ok(Buffer.byteLength(read("client.js")) < 10240);
});

test("server.js stays under 3 KiB, and handler.js under 4, minified and compressed", () => {
  for (const [file, most] of [["server.js", 3072], ["handler.js", 4096]]) {
    // Without comments and indentation. A minifier would leave even less.
    const bare = read(file).replace(/^\s*\/\*\*.*?\*\/|^\s*\/\/.*?$/gms, "").replace(/\n\s*/g, "\n");
    assert.ok(gzipSync(bare, { level: 9 }).length < most, `${file}: ${gzipSync(bare, { level: 9 }).length} bytes`);
  }
});

test("account.js stays under 12 KiB and imports client.js alone", () => {
  assert.ok(Buffer.byteLength(read("account.js")) < 12288);
  assert.deepEqual(names(read("account.js"), / from "([^"]+)"/g), ["./client.js"]);
});

test("client.js and handler.js import nothing, server.js only handler.js", () => {
  assert.deepEqual([...new Set(names(read("server.js"), / from "([^"]+)"/g))], ["./handler.js"]);
  for (const file of ["client.js", "handler.js"]) assert.doesNotMatch(read(file), /^import |\bimport\(|\brequire\(/m);
});

test("no module contains an address of the application, or reads the environment", () => {
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".js"))) assert.doesNotMatch(read(file), /process\.env|localhost|Deno\.|Bun\./, file);
});

test("a hook has at most 60 lines and no state of its own", () => {
  for (const hook of ["react", "vue", "svelte", "solid"]) {
    const text = read(`${hook}.js`);
    assert.ok(text.split("\n").length <= 61, hook);
    assert.doesNotMatch(text, /^(?:let|var) /m, hook);
    assert.match(text, / from "\.\/store\.js"/, hook);
  }
});

test("types declare exactly what a module exports", () => {
  assert.ok(entries.length > 1);
  for (const [path, target] of entries) {
    const file = path === "." ? "client.js" : target.default; // index.js exports all of it
    const passedOn = (text) => names(text, /^export \{ (.*) \} from/gm).flatMap((list) => list.split(", "));
    const exported = [...names(read(file), /^export (?:async )?(?:function|class|const) (\w+)/gm), ...passedOn(read(file))];
    const declared = [...names(read(target.types), /^export declare (?:function|class|const) (\w+)/gm), ...passedOn(read(target.types))];
    assert.ok(exported.length > 0, path);
    assert.deepEqual(exported.sort(), [...new Set(declared)].sort(), path);
  }
});

test("README.md shows the paths that the types are tested with", () => {
  const shown = JSON.parse(read("README.md").split("```json\n")[1].split("```")[0]);
  assert.deepEqual(shown.compilerOptions.paths, JSON.parse(read("tsconfig.json")).compilerOptions.paths);
});

test("the packed package has the exported files, its licence, and nothing else", () => {
  const [{ files }] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json"], { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  const packed = files.map((file) => file.path).sort();
  assert.deepEqual(packed, [...pkg.files, "LICENSE", "README.md", "package.json"].sort());
  for (const [, target] of entries) for (const file of Object.values(target)) assert.ok(packed.includes(file.slice(2)), file);
  for (const file of packed.filter((name) => name.endsWith(".js"))) {
    for (const [, needed] of read(file).matchAll(/ from "\.\/([^"]+)"/g)) assert.ok(packed.includes(needed), `${file} needs ${needed}`);
  }
  assert.equal(read("LICENSE"), read("../../LICENSE"));
});

test("the package is private, and nothing is installed with it", () => {
  assert.deepEqual([pkg.private, pkg.dependencies, pkg.license], [true, undefined, "Apache-2.0"]);
  assert.equal(JSON.parse(read("package-lock.json")).version, pkg.version);
  for (const script of ["preinstall", "install", "postinstall", "prepare"]) assert.equal(pkg.scripts[script], undefined);
});

test("importing a module starts nothing, on a server too", async () => {
  for (const [path] of entries.filter(([name]) => name === "." || name === "./server")) await import(path.replace(/^\.$/, "authsvc-client").replace(/^\.\//, "authsvc-client/"));
});
