import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ERROR_CODES } from '../src/core/failure/catalogue.ts'
import {
  importCycles,
  importsOf,
  needlessExports,
  ROOT,
  type SourceFile,
  sourceFiles,
} from './support/source.ts'

const LONGEST_FILE = 400
const MEDIAN_FILE = 90

/** Which rooms a room may import from, itself always included. Arrows run one way. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  core: [],
  ports: ['core'],
  'adapter-kit': ['core', 'ports'],
  runtime: ['core', 'ports'],
  operations: ['core', 'ports', 'adapter-kit', 'runtime'],
  replay: ['core', 'ports', 'adapter-kit', 'runtime', 'operations'],
  adapters: ['core', 'ports', 'adapter-kit'],
  integrations: ['core', 'ports', 'adapter-kit', 'runtime'],
  testing: ['core', 'ports', 'adapter-kit', 'runtime', 'operations', 'adapters'],
  config: ['core', 'ports', 'runtime', 'operations', 'replay'],
  server: ['core', 'ports', 'adapter-kit', 'runtime', 'operations', 'replay'],
  demo: ['core', 'ports', 'runtime', 'operations', 'replay', 'adapters', 'testing', 'server'],
  cli: [
    'core',
    'ports',
    'adapter-kit',
    'runtime',
    'operations',
    'replay',
    'adapters',
    'integrations',
    'config',
    'server',
    'demo',
  ],
}
/** Rooms in which every folder is a subpath of its own; the folders never import each other. */
const SUBPATH_EACH = ['adapters', 'integrations']
/** Exceptions: an adapter may import another one's public index. A file store keeps replays and snapshots in SQLite. */
const MAY_BUILD_ON: Record<string, string> = {
  'src/adapters/file/operating/operations.ts': 'src/adapters/sqlite/index.ts',
}
const WITHOUT_DEPENDENCIES = ['core', 'ports', 'adapter-kit', 'runtime']
const HOME_OF_TIME = 'src/ports/clock.ts'
const AMBIENT =
  /\b(Date\.now|Math\.random|setTimeout|setInterval|setImmediate|performance\.now)\b|new Date\(\)/

const isTest = (file: SourceFile) => /\.test\.tsx?$/.test(file.path)
const everything = ['src', 'test', 'bench', 'sim', 'examples', 'console/src'].flatMap(sourceFiles)
const source = sourceFiles('src').filter(file => !isTest(file))
const isTestPath = (line: string) => /\.test\.tsx? imports/.test(line)
const room = (path: string) => path.split('/')[1]!

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
/** The sources of what users import. */
const entries = Object.values<{ types: string; default: string } | string>(manifest.exports)
  .flatMap(target => (typeof target === 'string' ? [] : [target.types, target.default]))
  .map(target => target.replace('./dist/', 'src/').replace(/\.(d\.ts|js)$/, '.ts'))

describe('the house is tidy', () => {
  it('imports run one way between rooms', () => {
    const wrong = source.flatMap(file =>
      importsOf(file)
        .filter(specifier => specifier.startsWith('.'))
        .map(specifier => posix.join(posix.dirname(file.path), specifier))
        .filter(target => !allowed(file.path, target))
        .map(target => `${file.path} imports ${target}`),
    )
    expect(wrong).toEqual([])
  })

  it('no file imports itself by way of others, types included', () => {
    expect(importCycles(everything.filter(file => !isTest(file)))).toEqual([])
  })

  it('imports run one way between the folders of the server', () => {
    expect(importCycles(foldersOf('src/server'))).toEqual([])
  })

  it('no value is passed off as another type by way of never', () => {
    const wrong = source.filter(file => /\bas never\b/.test(withoutComments(file.text)))
    expect(wrong.map(file => file.path)).toEqual([])
  })

  it('the console knows the server by the types of its API alone', () => {
    const outside = sourceFiles('console/src').flatMap(file =>
      [...file.text.matchAll(/^(import|export) (?!type )[^'"]*?from '([^']*\/src\/[^']*)'/gm)].map(
        match => `${file.path} imports ${match[2]}`,
      ),
    )
    expect(outside.filter(line => !isTestPath(line))).toEqual([])
  })

  it('core, ports, adapter-kit and runtime import nothing from node_modules, and core nothing from Node', () => {
    const wrong = source
      .filter(file => WITHOUT_DEPENDENCIES.includes(room(file.path)))
      .flatMap(file =>
        importsOf(file)
          .filter(specifier => !specifier.startsWith('.'))
          .filter(specifier => !specifier.startsWith('node:') || room(file.path) === 'core')
          .map(specifier => `${file.path} imports ${specifier}`),
      )
    expect(wrong).toEqual([])
  })

  it('R1: `lazaret` does not load yaml, which loadPolicies loads with the first file', () => {
    const byPath = new Map(source.map(file => [file.path, withoutTypeImports(file)]))
    const reached = new Set(['src/index.ts'])
    const packages = new Set<string>()
    for (const path of reached)
      for (const specifier of importsOf(byPath.get(path)!))
        if (specifier.startsWith('.')) reached.add(posix.join(posix.dirname(path), specifier))
        else if (!specifier.startsWith('node:')) packages.add(`${path} imports ${specifier}`)
    expect(reached.size).toBeGreaterThan(100)
    expect([...packages].filter(line => line.endsWith(' yaml'))).toEqual([])
  })

  it('time and chance have one home', () => {
    const wrong = source.filter(
      file => file.path !== HOME_OF_TIME && AMBIENT.test(withoutComments(file.text)),
    )
    expect(wrong.map(file => file.path)).toEqual([])
  })

  it(`no file is longer than ${LONGEST_FILE} lines, and the median is under ${MEDIAN_FILE}`, () => {
    expect(everything.filter(file => file.lines > LONGEST_FILE).map(file => file.path)).toEqual([])
    const lengths = source.map(file => file.lines).sort((a, b) => a - b)
    expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThan(MEDIAN_FILE)
  })

  it('exports are named, one by one', () => {
    const wrong = source.filter(file => /^export (\*|default)/m.test(file.text))
    expect(wrong.map(file => file.path)).toEqual([])
  })

  it('what is exported is used elsewhere, and not by tests alone', () => {
    expect(needlessExports(everything, entries)).toEqual([])
  })

  it('every entry of the exports map has its source', () => {
    expect(entries.filter(path => !existsSync(join(ROOT, path)))).toEqual([])
  })

  it('the error catalogue and its page say the same', () => {
    const page = readFileSync(join(ROOT, 'docs/reference/errors.md'), 'utf8')
    const documented = [...page.matchAll(/^### `(\w+)`$/gm)].map(match => match[1])
    expect(documented.sort()).toEqual(Object.keys(ERROR_CODES).sort())
    for (const [code, summary] of Object.entries(ERROR_CODES)) {
      expect(page, `${code} is explained in the catalogue's words`).toContain(`### \`${code}\`\n\n${summary}`)
    }
  })

  it('the glossary has a word once', () => {
    const rows = readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8').matchAll(/^\| ([a-z][^|]*) \|/gm)
    const words = [...rows].map(([, word]) => word!)
    expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([])
  })

  it('every npm script that the code or a page names exists', () => {
    const scripts = Object.keys(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).scripts)
    const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...markdownBelow('docs')]
    const texts = [
      ...everything,
      ...pages.map(path => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
    ]
    const unknown = texts.flatMap(({ path, text }) =>
      [...text.matchAll(/\bnpm run ([a-z]+(?:[:-][a-z]+)*)/g)]
        .filter(([, script]) => !scripts.includes(script!))
        .map(([, script]) => `${path}: npm run ${script}`),
    )
    expect(unknown).toEqual([])
  })

  it('no test is held back', () => {
    const held = everything.filter(file => isTest(file) && /\.(only|todo)\(/.test(file.text))
    expect(held.filter(file => !file.path.endsWith('tidy.test.ts')).map(file => file.path)).toEqual([])
  })
})

function allowed(from: string, to: string): boolean {
  if (from === 'src/index.ts') return true
  if (!to.startsWith('src/')) return false
  const isApart = SUBPATH_EACH.includes(room(from)) && room(from) === room(to)
  if (isApart) return from.split('/')[2] === to.split('/')[2] || MAY_BUILD_ON[from] === to
  return room(from) === room(to) || (MAY_IMPORT[room(from)]?.includes(room(to)) ?? true)
}

/** Each folder in a room as if it were one file; a file of the room itself stays one. */
function foldersOf(folder: string): SourceFile[] {
  const nodeOf = (path: string) => path.split('/').slice(0, 3).join('/')
  const inRoom = source.filter(file => file.path.startsWith(`${folder}/`))
  const byNode = Map.groupBy(inRoom, file => nodeOf(file.path))
  return Array.from(byNode, ([path, files]) => {
    const targets = files.flatMap(file =>
      importsOf(file)
        .filter(specifier => specifier.startsWith('.'))
        .map(specifier => nodeOf(posix.join(posix.dirname(file.path), specifier))),
    )
    const others = [...new Set(targets)].filter(target => target !== path && target.startsWith(folder))
    const text = others.map(other => `import _ from './${posix.basename(other)}'`).join('\n')
    return { path, text, lines: others.length }
  })
}

function withoutTypeImports(file: SourceFile): SourceFile {
  return { ...file, text: file.text.replaceAll(/^import type [^;]*? from '[^']+'$/gm, '') }
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')
}

function markdownBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.md'))
    .map(path => posix.join(folder, path))
}
