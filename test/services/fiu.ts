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

const FAULTS_ENV = 'LAZARET_TEST_FAULTS'
const MAX_TRIES = 100

/** How to start a process that has these faults from its `beginFaults()` on. */
export function withFaults(
  faults: readonly Fault[],
  command: readonly string[],
): { readonly command: string; readonly args: readonly string[]; readonly env: NodeJS.ProcessEnv } {
  const controls = faults.flatMap(({ name, probability, errno }) => [
    '-c',
    `enable_random name=${name},probability=${probability}${errno === undefined ? '' : `,failinfo=${errno}`}`,
  ])
  return {
    command: 'fiu-run',
    args: ['-x', ...command],
    env: { ...process.env, [FAULTS_ENV]: JSON.stringify(controls) },
  }
}

/**
 * Called by the process itself once its code is loaded: Node reads its own files from the disk as well. The command succeeds, and
 * says why on its output, if the process does not listen yet.
 */
export async function beginFaults(): Promise<void> {
  const controls = process.env[FAULTS_ENV]
  if (controls === undefined) return
  for (let said = '', tries = 0; tries === 0 || said !== ''; tries++) {
    if (tries > MAX_TRIES) throw new Error(`fiu-ctrl: ${said}`)
    const { stdout, stderr } = await run('fiu-ctrl', [...JSON.parse(controls), String(process.pid)])
    said = `${stdout}${stderr}`.trim()
  }
}

async function isThere(): Promise<boolean> {
  return await run('fiu-run', ['-x', 'true']).then(
    () => true,
    () => false,
  )
}
