import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Found, findPackage } from './debian.ts'

const run = promisify(execFile)

/** A system call that fails now and then: its name for libfiu, how often, and the number of the error. */
export interface Fault {
  readonly name: string
  readonly probability: number
  readonly errno?: number
}

export const EIO = 5
export const ENOSPC = 28

/** libfiu makes system calls of a process fail (Debian: fiu-utils). */
export function findFiu(): Promise<Found> {
  return findPackage('fiu-utils', isThere)
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
