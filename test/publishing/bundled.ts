import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/source.ts'

/** A package whose code is in the files of the package. Users get it without installing it. */
export interface BundledPackage {
  readonly name: string
  readonly version: string
  readonly licence: string
}

/** What the builds of the package and of the console have listed. */
export const NOTICES = ['dist/licences.md', 'dist/console/licences.md']

export function bundledPackages(): BundledPackage[] {
  const notices = NOTICES.map(path => readFileSync(join(ROOT, path), 'utf8')).join('\n')
  return [...notices.matchAll(/^## (\S+) - (\S+) \(([^)]+)\)$/gm)].map(([, name, version, licence]) => ({
    name: name!,
    version: version!,
    licence: licence!,
  }))
}
