import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig, type HtmlTagDescriptor, type Plugin } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** What the small script that runs first is made of: it must not wait for anything larger. */
const FIRST =
  /\/console\/src\/(main|api\/(client|screen-queries|token)|lib\/(base-path|browser-clock|letter-filters|paths|preferences|route)|screens\/files)\.ts$/

// biome-ignore lint/style/noDefaultExport: Vite reads its configuration from the default export
export default defineConfig({
  root: here('.'),
  // The server puts the path below which it answers before the names of files.
  base: './',
  plugins: [react(), preloadConsole()],
  build: {
    outDir: here('../dist/console'),
    emptyOutDir: true,
    // The console has code of other packages in it, and their licences ask for the notice.
    license: { fileName: 'licences.md' },
    target: 'es2023',
    // The policy of the server allows neither inline scripts nor data URLs, so nothing may be inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 400,
    // One sheet for all screens, and few files: each is a way to the server, and a browser goes six at a time.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'main', test: FIRST, priority: 2 },
            {
              name: 'console',
              test: /\/console\/src\/(api|lib|shell|ui|screens\/(groups|overview))\/|node_modules/,
              priority: 1,
            },
          ],
        },
      },
    },
  },
  // For work on the console itself: `npx vite --config console/vite.config.ts` beside a running server.
  server: { proxy: { '/api': { target: 'http://127.0.0.1:4600', changeOrigin: true } } },
})

/** The page names the console's own files, so that they come together with the small script that asks for them. */
function preloadConsole(): Plugin {
  return {
    name: 'preload-console',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle = {} }) {
        const chunks = Object.values(bundle).filter(each => each.type === 'chunk')
        const main = chunks.find(({ facadeModuleId }) => facadeModuleId?.endsWith('/src/console.tsx'))
        const files = [main?.fileName ?? [], main?.imports ?? []].flat().filter(file => !html.includes(file))
        const styles = chunks
          .filter(({ fileName }) => files.includes(fileName))
          .flatMap(({ viteMetadata }) => [...(viteMetadata?.importedCss ?? [])])
        return [
          ...files.map(file => link('modulepreload', file)),
          ...styles.map(file => link('stylesheet', file)),
        ]
      },
    },
  }
}

function link(rel: 'modulepreload' | 'stylesheet', file: string): HtmlTagDescriptor {
  return { tag: 'link', attrs: { rel, crossorigin: true, href: `./${file}` }, injectTo: 'head' }
}
