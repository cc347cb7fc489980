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
export function circlesOf(files: readonly SourceFile[]): string[] {
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
