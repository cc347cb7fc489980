import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
const INSTALL_MS = 400_000
/** Another installation may be under way on the machine. */
const WAIT_FOR_OTHERS = ['-o', 'DPkg::Lock::Timeout=300']

export interface Missing {
  readonly found: false
  readonly why: string
}

/** Whether something that tests need is there; if not, why. */
export type Found = { readonly found: true } | Missing

/**
 * Looks for what a Debian package brings, and installs it where that can be done without asking. Without it the tests
 * that need it are skipped with the reason, except in CI, where that is a failure.
 */
export async function findPackage(
  name: string,
  isThere: () => Promise<boolean>,
  install: (name: string) => Promise<string> = installPackage,
): Promise<Found> {
  if (await isThere()) return { found: true }
  const why = await install(name)
  return (await isThere()) ? { found: true } : missing(name, why)
}

/** What tests need is not there: they are skipped with the reason, except in CI, where a skip would hide a hole. */
export function missing(name: string, why: string): Missing {
  if (process.env['CI'] === 'true') throw new Error(`${name} is needed in CI: ${why}`)
  return { found: false, why }
}

/** Resolves with what is the matter if the package is still not there. */
export async function installPackage(name: string): Promise<string> {
  if (process.getuid?.() !== 0) return `it is not there; install it with: apt-get install ${name}`
  try {
    await run('apt-get', [...WAIT_FOR_OTHERS, 'update'], { timeout: INSTALL_MS })
    await run('apt-get', [...WAIT_FOR_OTHERS, 'install', '-y', name], {
      timeout: INSTALL_MS,
      maxBuffer: 1 << 28,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    return `${name} is installed, but does not run`
  } catch (error) {
    return `${name} could not be installed: ${error instanceof Error ? error.message.split('\n')[0] : error}`
  }
}
