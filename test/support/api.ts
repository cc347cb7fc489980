import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { ROOT } from './source.ts'

/** The public surface of every subpath, as the text that is committed under api/. */
export function publicApi(): Map<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'lazaret-api-'))
  try {
    const args = [
      'tsc',
      '-p',
      'tsconfig.build.json',
      '--emitDeclarationOnly',
      '--removeComments',
      // Whether it is sound is for the build to say.
      '--noCheck',
      '--outDir',
      folder,
    ]
    execFileSync('npx', args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const subpaths = Object.entries<{ types: string } | string>(manifest.exports)
    return new Map(
      subpaths.flatMap(([subpath, target]) => {
        if (typeof target === 'string') return []
        const door = target.types.replace('./dist/', '')
        return [[baselineName(subpath), describeDoor(folder, door)] as const]
      }),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function baselineName(subpath: string): string {
  return `${subpath === '.' ? 'lazaret' : subpath.slice(2).replaceAll('/', '-')}.api.txt`
}

/**
 * The declarations behind one entry point, each in full, sorted by name, so that a change of signature shows in review.
 */
function describeDoor(folder: string, door: string): string {
  const text = readFileSync(join(folder, door), 'utf8')
  const lines: [name: string, declaration: string][] = []
  for (const [, names, from] of text.matchAll(/export (?:type )?\{([^}]*)\} from '([^']+)'/g)) {
    const file = posix.join(posix.dirname(door), from!).replace(/\.[jt]s$/, '.d.ts')
    const declarations = declarationsOf(readFileSync(join(folder, file), 'utf8'))
    for (const name of names!.split(',').map(part => part.replace(/\btype\b/, '').trim())) {
      if (name !== '') lines.push([name, declarations.get(name) ?? `(re-exported) ${name} from ${from}`])
    }
  }
  lines.sort(([a], [b]) => (a < b ? -1 : 1))
  return `${lines.map(([, declaration]) => declaration).join('\n')}\n`
}

/** Top-level declarations start in the first column and end before the next one does. */
function declarationsOf(text: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const statement of text.split(/\n(?=export |declare |import )/)) {
    const name = /^export (?:declare )?(?:abstract )?(?:class|function|const|interface|type) (\w+)/.exec(
      statement,
    )?.[1]
    if (name === undefined) continue
    const before = found.get(name)
    found.set(name, before === undefined ? statement.trim() : `${before}\n${statement.trim()}`)
  }
  return found
}
