/** What users install, and what is bundled into the package: they must be able to pass it on without conditions but the notice. */
const FOR_USERS = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'MIT-0', 'Unlicense']
/** Also allowed for tools and tests, which are not published. */
const FOR_DEVELOPERS = [...FOR_USERS, 'BlueOak-1.0.0', 'CC0-1.0', 'MPL-2.0', 'Python-2.0']
/** Packages that need a look by a person, who has written here what they found. */
const EXAMINED: Readonly<Record<string, string>> = {
  individual: 'MIT in its LICENCE file; its manifest has the old form',
  'safe-json-parse': 'MIT in its LICENCE file; its manifest has the old form',
  sentry:
    'FSL-1.1-Apache-2.0: the command line of Sentry, which @sentry/node brings for builds; tests do not run it',
}

/** An entry of `packages` in package-lock.json. */
export interface LockedPackage {
  readonly version?: string
  readonly license?: string
  readonly dev?: boolean
  readonly peer?: boolean
}

export type LockedPackages = Readonly<Record<string, LockedPackage>>

/** Every package whose licence nobody has allowed, with the licence. */
export function licenceFaults(packages: LockedPackages, bundled: readonly string[]): string[] {
  return Object.entries(packages).flatMap(([path, { version, license = 'no licence', dev = false }]) => {
    const name = path.replace(/^.*node_modules\//, '')
    if (path === '' || (dev && !bundled.includes(name) && name in EXAMINED)) return []
    const allowed = dev && !bundled.includes(name) ? FOR_DEVELOPERS : FOR_USERS
    return isAllowed(license, allowed) ? [] : [`${name}@${version}: ${license}`]
  })
}

/** One of several is enough with OR; all are needed with AND. Anything longer needs a person. */
function isAllowed(expression: string, allowed: readonly string[]): boolean {
  const plain = expression.replace(/^\((.*)\)$/, '$1')
  if (plain.includes(' OR ')) return plain.split(' OR ').some(each => allowed.includes(each))
  return plain.split(' AND ').every(each => allowed.includes(each))
}
