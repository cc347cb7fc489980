import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// TypeScript writes the types of every source. Most are of files that no entry of the package names in its own types, and
// some of those need packages that users do not have.

const ROOT = new URL('../', import.meta.url)
/** A file that is named by a type: `from './x.ts'`, `import('./x.ts')` or `import './x.ts'`. */
const NAMED = /(?:from|import) ?\(?['"](\.[^'"]+)['"]/g

const { exports } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}
const needed = new Set<string>()

function need(url: URL): void {
  if (needed.has(url.href) || !existsSync(url)) return
  needed.add(url.href)
  for (const [, path] of readFileSync(url, 'utf8').matchAll(NAMED))
    need(new URL(path!.replace(/\.[jt]s$/, '.d.ts'), url))
}

for (const target of Object.values(exports)) if (typeof target !== 'string') need(new URL(target.types, ROOT))
for (const path of globSync('dist/**/*.d.ts', { cwd: fileURLToPath(ROOT) })) {
  const url = new URL(path, ROOT)
  if (!needed.has(url.href)) rmSync(url)
}
