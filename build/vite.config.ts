import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin, type Rolldown } from 'vite'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SOURCES = `${ROOT}src/`
/** The only package in the build: as about a hundred files it takes a quarter of the start of a server. */
const BUILT_IN = 'zod'
const BUILT = `${ROOT}dist/`

/** Stands for the way from a file of the build to `dist`, until the file has its place. */
const WAY_TO_DIST = '__WAY_TO_DIST__/'

/** What the threads of SQLite load, each only what it needs. */
const SQLITE_THREADS = ['database', 'reader', 'writer'].map(name => `adapters/sqlite/connection/${name}`)

/**
 * Builds the package: few files that share their code, because Node takes longer to find and open hundreds of files than
 * to run them. What users import has the path of its source. TypeScript writes the types beside it.
 */
// biome-ignore lint/style/noDefaultExport: Vite reads its configuration from the default export
export default defineConfig({
  root: ROOT,
  publicDir: false,
  ssr: { noExternal: [BUILT_IN] },
  plugins: [removeEarlierBuild(), keepPlaces()],
  build: {
    ssr: true,
    outDir: BUILT,
    emptyOutDir: false,
    minify: false,
    target: 'node22',
    // The licence of a package in the build asks for the notice.
    license: { fileName: 'licences.md' },
    rolldownOptions: {
      input: Object.fromEntries(entries().map(path => [path, `${SOURCES}${path}.ts`])),
      external: id => /^[^./]/.test(id) && id !== BUILT_IN,
      output: {
        // They are in the types. Without them Node has a fifth less to read.
        comments: { jsdoc: false },
        entryFileNames: '[name].js',
        chunkFileNames: ({ name }) => (name.startsWith('demo/') ? '[name].js' : 'chunks/[name].js'),
        codeSplitting: {
          groups: [
            {
              name: neededBy(['cli/main'], 'foundation'),
              debugName: 'foundation',
              test: /\/src\/(adapter-kit|config|core|ports)\//,
              priority: 6,
            },
            {
              name: neededBy(SQLITE_THREADS, 'sqlite-threads'),
              debugName: 'sqlite-threads',
              test: /\/src\/.*\//,
              priority: 5,
            },
            { name: neededBy(['index'], 'lazaret'), debugName: 'lazaret', test: /\/src\/.*\//, priority: 4 },
            { name: BUILT_IN, test: new RegExp(`/node_modules/${BUILT_IN}/`), priority: 7 },
            { name: 'lazaret-core', test: /\/src\/(adapter-kit|core|ports|runtime)\//, priority: 3 },
            { name: 'operations', test: /\/src\/(config|operations|replay)\//, priority: 2 },
            { name: 'server', test: /\/src\/server\//, priority: 1 },
            // The stacks in the letters of the demo name the files of its shop.
            { name: placeOf, debugName: 'demo', test: /\/src\/demo\/(relocate-stacks|shop\/)/, priority: 0 },
          ],
        },
      },
    },
  },
})

/** What is imported or started by its path. */
function entries(): string[] {
  const { exports, bin } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>
    readonly bin: Readonly<Record<string, string>>
  }
  const imported = Object.values(exports).flatMap(target =>
    typeof target === 'string' ? [] : target.default,
  )
  const named = [...imported, ...Object.values(bin)].map(path =>
    path.replace(/^(\.\/)?dist\/(.*)\.js$/, '$2'),
  )
  return [...named, 'adapters/sqlite/connection/worker']
}

/** `/work/lazaret/src/demo/shop/orders.ts` becomes `demo/shop/orders`. */
function placeOf(id: string): string {
  return relative(SOURCES, id).replaceAll('\\', '/').replace(/\.ts$/, '')
}

/**
 * A file of their own for the modules that an entry needs. Without it, `lazaret --help` would load the whole core for a few names
 * of states and rules for options, and `import 'lazaret'` would load what only adapters and servers need.
 */
function neededBy(entries: readonly string[], file: string): Rolldown.CodeSplittingNameFunction {
  const needed = new Set<string>()
  return (id, context) => {
    const add = (each: string) => {
      if (needed.has(each)) return
      needed.add(each)
      context.getModuleInfo(each)?.importedIds.forEach(add)
    }
    for (const entry of entries) add(`${SOURCES}${entry}.ts`)
    return needed.has(id) ? file : null
  }
}

/** The console stays: it has a build of its own. */
function removeEarlierBuild(): Plugin {
  return {
    name: 'remove-earlier-build',
    buildStart() {
      mkdirSync(BUILT, { recursive: true })
      for (const name of readdirSync(BUILT).filter(each => each !== 'console'))
        rmSync(`${BUILT}${name}`, { recursive: true })
    },
  }
}

/** A module finds files beside it by its URL. In the build, that is the URL it would have as a file of its own. */
function keepPlaces(): Plugin {
  return {
    name: 'keep-places',
    transform(code, id) {
      if (!id.startsWith(SOURCES) || !code.includes('import.meta.url')) return undefined
      const place = `${WAY_TO_DIST}${placeOf(id)}.js`
      return code.replaceAll('import.meta.url', `new URL('${place}', import.meta.url).href`)
    },
    renderChunk(code, { fileName }) {
      return code.replaceAll(WAY_TO_DIST, `${posix.relative(posix.dirname(fileName), '.') || '.'}/`)
    },
  }
}
