// node bundle.mjs ENTRY: one script for browsers, on standard output. The compilers of
// Svelte and Vue compile their files.
import { readFile } from "node:fs/promises"
import { build } from "esbuild"
import { compile } from "svelte/compiler"
import { compileScript, parse } from "vue/compiler-sfc"

const svelte = {
  name: "svelte",
  setup({ onLoad }) {
    onLoad({ filter: /\.svelte$/ }, async ({ path }) => ({
      contents: compile(await readFile(path, "utf8"), { filename: path, generate: "client" }).js.code,
    }))
  },
}

const vue = {
  name: "vue",
  setup({ onLoad }) {
    onLoad({ filter: /\.vue$/ }, async ({ path }) => {
      const { descriptor, errors } = parse(await readFile(path, "utf8"), { filename: path })
      if (errors.length) throw errors[0]
      return { contents: compileScript(descriptor, { id: path, inlineTemplate: true }).content }
    })
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
  plugins: [svelte, vue],
})
process.stdout.write(outputFiles[0].contents)
