import { findPackage } from './debian.ts'
import { type FoundProgram, findGoProgram } from './go-program.ts'
import { runs } from './prometheus.ts'

/** The newest release. Change it here, and each machine builds the new one once. */
const NEWEST = 'v2.15.2'

/**
 * - `newest`: the latest release, built from the Go module proxy.
 * - `oldest`: Debian's, the oldest server that the adapter supports.
 */
export type NatsRelease = 'newest' | 'oldest'

/** The program of a NATS server. */
export function findNatsServer(release: NatsRelease): Promise<FoundProgram> {
  if (release === 'oldest') return findOldest()
  const source = `github.com/nats-io/nats-server/v2@${NEWEST}`
  return findGoProgram({ name: 'nats-server', version: NEWEST, source })
}

async function findOldest(): Promise<FoundProgram> {
  const binary = '/usr/sbin/nats-server'
  const found = await findPackage('nats-server', () => runs(binary))
  return found.found ? { found: true, binary } : found
}
