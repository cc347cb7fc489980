import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
const INSTALL_MS = 120_000

/** A system call that fails now and then: its name for libfiu, how often, and the number of the error. */
export interface Fault {
  readonly name: string
  readonly probability: number
  readonly errno?: number
}

export const EIO = 5
export const ENOSPC = 28

export type Fiu = { readonly found: true } | { readonly found: false; readonly why: string }

/**
 * libfiu makes system calls of a process fail (Debian: fiu-utils). It is installed where that can be done without
 * asking. Without it the tests that need it are skipped with the reason, except in CI, where that is a failure.
 */
export async function findFiu(): Promise<Fiu> {
  if (await isThere()) return { found: true }
  const why = await install()
  if (await isThere()) return { found: true }
  if (process.env['CI'] === 'true') throw new Error(`libfiu is needed in CI: ${why}`)
  return { found: false, why }
}

/** The command that runs another one with these faults. */
export function withFaults(
  faults: readonly Fault[],
  command: readonly string[],
): readonly [string, ...string[]] {
  const controls = faults.flatMap(({ name, probability, errno }) => [
    '-c',
    `enable_random name=${name},probability=${probability}${errno === undefined ? '' : `,failinfo=${errno}`}`,
  ])
  return ['fiu-run', '-x', ...controls, ...command]
}

async function isThere(): Promise<boolean> {
  return await run('fiu-run', ['-x', 'true']).then(
    () => true,
    () => false,
  )
}

async function install(): Promise<string> {
  if (process.getuid?.() !== 0) return 'fiu-run is not there; install it with: apt-get install fiu-utils'
  try {
    await run('apt-get', ['install', '-y', 'fiu-utils'], { timeout: INSTALL_MS })
    return 'fiu-utils is installed, but fiu-run does not run'
  } catch (error) {
    return `fiu-utils could not be installed: ${error instanceof Error ? error.message.split('\n')[0] : error}`
  }
}
