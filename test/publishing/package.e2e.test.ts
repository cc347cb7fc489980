import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, posix } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { type Missing, missing } from '../services/debian.ts'
import { ROOT } from '../support/source.ts'
import { billOfMaterials } from './bill-of-materials.ts'
import { bundledPackages } from './bundled.ts'
import { licenceFaults } from './licences.ts'

const run = promisify(execFile)
const MAX_PACKED_BYTES = 3_500_000
const EXAMPLES = [
  ...['custom-adapter', 'kafka', 'nats', 'nestjs', 'order-service', 'outbox', 'profile-service'],
  ...['testing-handlers', 'tracing', 'tracking'],
]
const ROOMS = [
  ...[
    'adapter-kit',
    'adapters',
    'chunks',
    'cli',
    'config',
    'console',
    'core',
    'demo',
    'integrations',
    'operations',
  ],
  ...['ports', 'replay', 'runtime', 'server', 'testing'],
]

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const isBuilt =
  existsSync(join(ROOT, 'dist/cli/main.js')) && existsSync(join(ROOT, 'dist/console/index.html'))
if (!isBuilt) throw new Error('the package is not built; run npm run build first')

interface Packed {
  readonly size: number
  readonly files: readonly { readonly path: string; readonly mode: number }[]
}

type Publint = (options: { pkgDir: string; pack: 'npm' }) => Promise<{ messages: readonly unknown[] }>

/** It is named by a variable, so that a folder whose dependencies are older can be compiled. */
async function findPublint(): Promise<{ readonly found: true; readonly publint: Publint } | Missing> {
  const name = 'publint'
  try {
    const { publint }: { readonly publint: Publint } = await import(name)
    return { found: true, publint }
  } catch {
    return missing(name, 'it is not installed; run npm ci')
  }
}

const checker = await findPublint()
const { stdout, stderr } = await run('npm', ['publish', '--dry-run', '--json', '--ignore-scripts'], {
  cwd: ROOT,
  maxBuffer: 1 << 28,
})
const [packed] = Object.values(JSON.parse(stdout)) as [Packed]
const paths = packed.files.map(({ path }) => path)
const published = new Set(paths)
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')

describe('the published package', () => {
  it('is published without a word of npm', () => {
    const words = stderr.split('\n').filter(line => /^npm (warn|error)/.test(line))
    // The tests are not logged in, and the settings of a machine are not those of the package.
    expect(words.filter(line => !/requires you to be logged in|Unknown \w+ config/.test(line))).toEqual([])
  })

  it('has these folders and no others', () => {
    const folders = new Set(paths.map(path => posix.dirname(path).split('/').slice(0, 2).join('/')))
    expect([...folders].sort()).toEqual(
      [
        ...['.', 'dist', 'src/demo', 'src/ports'],
        ...['deploy', 'deploy/alertmanager', 'deploy/grafana', 'deploy/prometheus'],
        ...['docs', 'docs/brokers', 'docs/deploy', 'docs/guides', 'docs/pictures', 'docs/policies'],
        ...['docs/reference', 'docs/runbooks', 'docs/sinks', 'docs/stores'],
        ...EXAMPLES.map(name => `examples/${name}`),
        ...ROOMS.map(name => `dist/${name}`),
      ].sort(),
    )
  })

  it('has no tests, fixtures, maps, secrets or state of a machine', () => {
    const unwanted =
      /\.(test|spec)\.|\.map$|(^|\/)(fixtures|node_modules|var|coverage)\/|\.env|\.npmrc|\.log$|\.db$/
    const tested = paths.filter(path => !/^examples\/.*\.test\.ts$/.test(path))
    expect(tested.filter(path => unwanted.test(path))).toEqual([])
    const scripts = paths.filter(path => /^dist\/.*\.(js|css)$/.test(path))
    expect(scripts.filter(path => textOf(path).includes('sourceMappingURL='))).toEqual([])
  })

  it(`is smaller than ${MAX_PACKED_BYTES} bytes`, () => {
    expect(packed.size).toBeLessThan(MAX_PACKED_BYTES)
  })

  it('has every file that its manifest names, and a command that can be started', () => {
    const named = Object.values<string | Record<string, string>>(manifest.exports).flatMap(target =>
      typeof target === 'string' ? target : Object.values(target),
    )
    expect(named.filter(path => !published.has(path.replace('./', '')))).toEqual([])
    const command: string = manifest.bin.lazaret
    expect(textOf(command)).toMatch(/^#!\/usr\/bin\/env node\n/)
    expect(published.has(command)).toBe(true)
  })

  it('loads few files, and has one class for a name in all its entries', async () => {
    const entries = Object.values<string | { readonly default: string }>(manifest.exports)
      .flatMap(target => (typeof target === 'string' ? [] : target.default))
      .map(path => pathToFileURL(join(ROOT, path)).href)
    const loading = join(ROOT, 'test/publishing/load-entries.ts')
    const { stdout: told } = await run(process.execPath, [loading, ...entries])
    const { filesOfFirst, severalClasses } = JSON.parse(told)
    expect(severalClasses).toEqual([])
    expect(filesOfFirst).toBeLessThan(20)
  })

  it('has a command that loads the core only for what needs it', () => {
    const loaded = new Set<string>()
    const load = (path: string) => {
      if (loaded.has(path)) return
      loaded.add(path)
      for (const [, to] of textOf(path).matchAll(/^import .*from "(\..*)";$/gm))
        load(posix.join(posix.dirname(path), to!))
    }
    load(manifest.bin.lazaret)
    expect(loaded).toContain('dist/chunks/foundation.js')
    expect([...loaded].filter(path => /(lazaret|lazaret-core|operations|server)\.js$/.test(path))).toEqual([])
  })

  it('has types that need nothing but the package, its dependencies, its peers and Node', () => {
    const known = [manifest.dependencies, manifest.peerDependencies].flatMap(Object.keys)
    const types = paths.filter(path => path.endsWith('.d.ts'))
    expect(types.length).toBeGreaterThan(300)
    const dead = types.flatMap(path =>
      [
        ...textOf(path)
          .replace(/\/\*[\s\S]*?\*\//g, '')
          .matchAll(/(?:from|import\() ?['"]([^'"\s]+)['"]/g),
      ]
        .map(([, specifier]) => specifier!)
        .filter(specifier => !isResolved(path, specifier, known))
        .map(specifier => `${path} imports ${specifier}`),
    )
    expect(dead).toEqual([])
  })

  it.runIf(checker.found)(`passes publint${checker.found ? '' : ` (skipped: ${checker.why})`}`, async () => {
    if (!checker.found) return
    expect((await checker.publint({ pkgDir: ROOT, pack: 'npm' })).messages).toEqual([])
  })

  it('has the licences of what is bundled into the package', () => {
    const bundled = bundledPackages()
    expect(bundled.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['react', 'react-dom', 'wouter', 'zod']),
    )
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
    const names = bundled.map(({ name }) => name)
    expect(licenceFaults(packages, names)).toEqual([])
  })

  it('has a bill of materials with all that users install, and all that is bundled', () => {
    const bundled = bundledPackages()
    const { components, metadata, dependencies } = billOfMaterials(bundled)
    const names = [...Object.keys(manifest.dependencies), ...bundled.map(({ name }) => name)]
    expect(components.map(({ name }) => name).sort()).toEqual([...new Set(names)].sort())
    expect(metadata.component.name).toBe('lazaret')
    expect(dependencies.map(({ ref }) => ref)).toContain(`lazaret@${manifest.version}`)
  })
})

function isResolved(path: string, specifier: string, known: readonly string[]): boolean {
  if (isBuiltin(specifier)) return true
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(path), specifier)
    return published.has(target.replace(/\.(js|ts)$/, '.d.ts'))
  }
  return known.some(name => specifier === name || specifier.startsWith(`${name}/`))
}
