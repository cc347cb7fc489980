import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/source.ts'

/** A package whose code is in the files of the console. Users get it without installing it. */
export interface BundledPackage {
  readonly name: string
  readonly version: string
  readonly licence: string
}

export const NOTICES = 'dist/console/licences.md'

/** The packages in the console, as its build has listed them. */
export function bundledPackages(): BundledPackage[] {
  const notices = readFileSync(join(ROOT, NOTICES), 'utf8')
  return [...notices.matchAll(/^## (\S+) - (\S+) \(([^)]+)\)$/gm)].map(([, name, version, licence]) => ({
    name: name!,
    version: version!,
    licence: licence!,
  }))
}
