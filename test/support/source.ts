import { readdirSync, readFileSync } from 'node:fs'
import { join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export interface SourceFile {
  /** From the repository's root, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly lines: number
}

/** Every TypeScript file below a folder of the repository, tests included. */
export function sourceFiles(folder: string): SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map(entry => {
      const text = readFileSync(join(entry.parentPath, entry.name), 'utf8')
      const path = relative(ROOT, join(entry.parentPath, entry.name)).replaceAll('\\', '/')
      return { path, text, lines: text.split('\n').length - 1 }
    })
}

/** What a file imports or re-exports from, as written. */
export function importsOf(file: SourceFile): string[] {
  const specifiers = file.text.matchAll(/(?:^|\n)\s*(?:import|export)\b[^'"]*?from\s+'([^']+)'/g)
  const dynamic = file.text.matchAll(/\bimport\(\s*'([^']+)'/g)
  return [...specifiers, ...dynamic].map(match => match[1]!)
}

/** Ways along which a file imports itself, one for each file from which such a way is found first. */
export function importCycles(files: readonly SourceFile[]): string[] {
  const byPath = new Map(files.map(file => [file.path, file]))
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (path: string, way: readonly string[]): void => {
    const file = byPath.get(path)
    if (file === undefined || done.has(path)) return
    if (way.includes(path)) {
      circles.push([...way.slice(way.indexOf(path)), path].join(' > '))
      return
    }
    for (const specifier of importsOf(file))
      if (specifier.startsWith('.')) visit(posix.join(posix.dirname(path), specifier), [...way, path])
    done.add(path)
  }
  for (const { path } of files) visit(path, [])
  return circles
}

/** What `src` exports though no other file needs it, or tests alone do. */
export function needlessExports(files: readonly SourceFile[], entries: readonly string[]): string[] {
  const users = new Map<string, boolean>()
  const whole = new Set(entries)
  for (const file of files) {
    for (const [, names = '', specifier = ''] of file.text.matchAll(NAMED_IMPORT)) {
      const target = posix.join(posix.dirname(file.path), specifier)
      for (const name of names.split(',').map(plainName)) {
        const key = `${target} ${name}`
        users.set(key, users.get(key) || !isForTests(file))
      }
    }
    // Of what is imported as a whole it cannot be told what is used.
    for (const [, specifier = ''] of file.text.matchAll(/(?:\* as \w+ from|\* from|import\()\s*'(\.[^']+)'/g))
      whole.add(posix.join(posix.dirname(file.path), specifier))
  }
  return files
    .filter(file => file.path.startsWith('src/') && !isForTests(file) && !whole.has(file.path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(EXPORTED)]
        .map(([, name]) => name!)
        .filter(name => {
          const isUsedInside = (text.match(new RegExp(`\\b${name}\\b`, 'g'))?.length ?? 0) > 1
          const isUsedBySource = users.get(`${path} ${name}`)
          return isUsedBySource === undefined || !(isUsedBySource || isUsedInside)
        })
        .map(name => `${path} exports ${name}`),
    )
}

const NAMED_IMPORT = /(?:import|export)(?: type)?\s*\{([^}]*)\}\s*from\s*'(\.[^']+)'/g
const EXPORTED = /^export (?:abstract )?(?:async )?(?:const|function\*?|class|interface|type|let) (\w+)/gm

function plainName(imported: string): string {
  return imported
    .trim()
    .replace(/^type /, '')
    .replace(/ as .*$/, '')
}

function isForTests({ path }: SourceFile): boolean {
  return path.startsWith('test/') || /\.test\.tsx?$/.test(path)
}
