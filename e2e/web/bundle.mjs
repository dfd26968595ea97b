// node bundle.mjs ENTRY: one script for browsers, on standard output. Svelte's
// files are compiled by its own compiler.
import { readFile } from "node:fs/promises"
import { build } from "esbuild"
import { compile } from "svelte/compiler"

const svelte = {
  name: "svelte",
  setup({ onLoad }) {
    onLoad({ filter: /\.svelte$/ }, async ({ path }) => ({
      contents: compile(await readFile(path, "utf8"), { filename: path, generate: "client" }).js.code,
    }))
  },
}

const { outputFiles } = await build({
  entryPoints: [process.argv[2]],
  bundle: true,
  write: false,
  format: "iife",
  jsx: "automatic",
  minify: true,
  logLevel: "warning",
  define: { "process.env.NODE_ENV": '"production"' },
  plugins: [svelte],
})
process.stdout.write(outputFiles[0].contents)
