import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/source.ts'
import type { BundledPackage } from './bundled.ts'
import type { LockedPackages } from './licences.ts'

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly version: string
  readonly properties?: readonly { readonly name: string; readonly value: string }[]
}

/** The parts of a CycloneDX document that are changed here. */
interface Bill {
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

/**
 * The packages that users get: those that npm installs for them, and those whose code is in the files of the package. npm knows both,
 * but `npm sbom --omit dev` leaves out dependencies that a dev dependency has as a peer, and everything that is bundled.
 */
export function billOfMaterials(bundled: readonly BundledPackage[]): Bill {
  const { name, version } = readJson('package.json')
  const all: Bill = JSON.parse(
    // From the lock alone, because a folder with another version of Node installed has problems in the eyes of npm.
    execFileSync(
      'npm',
      ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'library'],
      {
        cwd: ROOT,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
        maxBuffer: 1 << 28,
      },
    ),
  )
  const installed = installedForUsers(readJson('package-lock.json').packages)
  const bundledRefs = new Set(bundled.map(each => `${each.name}@${each.version}`))
  const components = all.components
    .filter(({ 'bom-ref': ref }) => installed.has(ref) || bundledRefs.has(ref))
    .map(each =>
      bundledRefs.has(each['bom-ref'])
        ? { ...each, properties: [{ name: 'lazaret:bundled', value: 'true' }] }
        : each,
    )
  const kept = new Set(components.map(each => each['bom-ref']))
  const root = `${name}@${version}`
  return {
    ...all,
    // npm takes the name of the folder.
    metadata: { ...all.metadata, component: { ...all.metadata.component, name } },
    components,
    dependencies: all.dependencies
      .filter(({ ref }) => ref === root || kept.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(each => kept.has(each)) })),
  }
}

function installedForUsers(packages: LockedPackages): Set<string> {
  const forUsers = Object.entries(packages).filter(([path, { dev, peer }]) => path !== '' && !dev && !peer)
  return new Set(forUsers.map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`))
}

function readJson(path: string) {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
}
