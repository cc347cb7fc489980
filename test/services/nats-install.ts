import { findPackage } from './debian.ts'
import { givenBinary } from './given-binaries.ts'
import { type FoundProgram, findGoProgram } from './go-program.ts'
import { runs } from './prometheus.ts'

const PROGRAM = 'nats-server'
/** The newest release. Change it here, and each machine builds the new one once. */
export const NEWEST_NATS = 'v2.15.2'

/**
 * - `newest`: the latest release, built from the Go module proxy.
 * - `oldest`: Debian's, the oldest server that the adapter supports.
 */
export type NatsRelease = 'newest' | 'oldest'

/** The program of a NATS server: the one in the folder that LAZARET_TEST_NATS_BINARIES names, whatever release is asked for. */
export async function findNatsServer(release: NatsRelease): Promise<FoundProgram> {
  const given = givenBinary('NATS', PROGRAM)
  if (given !== undefined) return { found: true, binary: given }
  return release === 'oldest' ? findOldest() : findNatsRelease(NEWEST_NATS)
}

/** The program of one release, such as `v2.10.27`. */
export function findNatsRelease(version: string): Promise<FoundProgram> {
  return findGoProgram({ name: PROGRAM, version, source: `github.com/nats-io/nats-server/v2@${version}` })
}

async function findOldest(): Promise<FoundProgram> {
  const binary = '/usr/sbin/nats-server'
  const found = await findPackage('nats-server', () => runs(binary))
  return found.found ? { found: true, binary } : found
}
